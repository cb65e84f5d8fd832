import {
  BaseAgent,
  createEvent,
  type Event,
  InMemoryRunner,
  InMemorySessionService,
  type InvocationContext,
  Runner,
  SequentialAgent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

/** An agent that ends the run when the state has an alarm. */
class Guard extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const { agent, session, invocationId } = context;
    const memory = context.memoryService ? 'with memory' : 'without memory';
    const text = `${agent?.name} in ${session.id}, ${memory}, ${context.invocationId === invocationId}`;
    yield createEvent({ author: this.name, invocationId, content: { role: 'model', parts: [{ text }] } });
    if (session.state['alarm'] === true) {
      context.endInvocation = true;
      yield {
        author: this.name,
        invocationId,
        content: { parts: [{ text: 'It ends because of the alarm.' }] },
      } as Event;
      return;
    }
    yield createEvent({ author: this.name, invocationId, content: { role: 'model', parts: [{ text: 'Go on.' }] } });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const agent = new SequentialAgent({
  name: 'patrol',
  subAgents: [new Guard({ name: 'first' }), new Guard({ name: 'second' })],
});

const program: Program = {
  replies: [],
  async main(tell) {
    const sessionService = new InMemorySessionService();
    const runners = [
      new InMemoryRunner({ agent, appName: 'guards' }),
      new Runner({ agent, appName: 'guards', sessionService }),
    ];
    for (const runner of runners)
      for (const alarm of [false, true]) {
        const sessionId = `alarm-${alarm}`;
        await runner.sessionService.createSession({ appName: 'guards', userId: 'ann', sessionId, state: { alarm } });
        const newMessage = createUserContent('Look around.');
        for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      }
  },
};
export default program;
