import { BaseAgent, type Event, InMemoryRunner, type InvocationContext, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** Runs its agents in order, and ends the run once one has said "enough". */
class Team extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    for (const agent of this.subAgents) {
      if (context.endInvocation) return;
      for await (const event of agent.runAsync(context)) {
        if (event.content?.parts?.[0]?.text === 'enough') context.endInvocation = true;
        yield event;
      }
    }
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const names = ['first', 'second', 'third'];
const subAgents = names.map((name) => new LlmAgent({ name, model: 'gemini-flash-latest', instruction: 'Work.' }));
const agent = new Team({ name: 'team', subAgents });

const program: Program = {
  replies: ['more', 'enough', 'never asked'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'team' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'team', userId: 'ann' });
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent('Begin.') }))
      tell(event);
  },
};
export default program;
