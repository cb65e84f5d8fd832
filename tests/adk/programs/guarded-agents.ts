import { type Event, InMemoryRunner, type InvocationContext, LlmAgent, SequentialAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const log: string[] = [];

/** An agent that works only for users who have signed in. */
class GuardedAgent extends LlmAgent {
  override async *runAsync(context: InvocationContext): AsyncGenerator<Event, void, void> {
    log.push(`${this.name}: ${context.session.state['signedIn'] === true}`);
    if (context.session.state['signedIn'] !== true) return;
    yield* super.runAsync(context);
    log.push(`${this.name}: done`);
  }
}

/** A sequence that marks the events of its agents. */
class MarkedSequence extends SequentialAgent {
  override async *runAsync(context: InvocationContext): AsyncGenerator<Event, void, void> {
    for await (const event of super.runAsync(context)) yield { ...event, customMetadata: { sequence: this.name } };
  }
}

const model = 'gemini-flash-latest';
const account = new GuardedAgent({ name: 'account', model });
const help = new LlmAgent({ name: 'help', model });
// The program assigns the method, as libraries that trace agents do.
const original = help.runAsync.bind(help);
help.runAsync = async function* (context) {
  log.push('help: traced');
  yield* original(context);
};

const program: Program = {
  replies: ['Anyone can read this.', 'Your balance is 3.', 'Anything else?'].map((text) =>
    jsonReply(wireResponse(text)),
  ),
  async main(tell) {
    const agent = new MarkedSequence({ name: 'desk', subAgents: [account, help] });
    const runner = new InMemoryRunner({ agent, appName: 'desk' });
    for (const state of [{}, { signedIn: true }]) {
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'desk', userId: 'ann', state });
      const newMessage = createUserContent('What is my balance?');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        tell({ metadata: event.customMetadata });
      }
    }
    tell({ log });
  },
};
export default program;
