import {
  BaseAgent,
  createEvent,
  createEventActions,
  type Event,
  InMemoryRunner,
  type InvocationContext,
  State,
} from '@google/adk';
import type { Program } from '../stage.ts';

const VISITS = `${State.USER_PREFIX}visits`;
const TOTAL = `${State.APP_PREFIX}total`;

/** An agent that counts its turns in the state of the session, the user and the app. */
class Counter extends BaseAgent {
  constructor() {
    super({ name: 'counter' });
  }

  protected override async *runAsyncImpl({
    session,
    invocationId,
    branch,
    userContent,
  }: InvocationContext): AsyncGenerator<Event, void, void> {
    const next = (key: string): number => (typeof session.state[key] === 'number' ? session.state[key] : 0) + 1;
    const stateDelta = {
      turns: next('turns'),
      [VISITS]: next(VISITS),
      [TOTAL]: next(TOTAL),
      [`${State.TEMP_PREFIX}message`]: userContent?.parts?.[0]?.text,
    };
    const text = `${session.id}: turn ${stateDelta.turns} of ${session.userId}`;
    yield createEvent({
      invocationId,
      author: this.name,
      ...(branch && { branch }),
      content: { role: 'model', parts: [{ text }] },
      actions: createEventActions({ stateDelta }),
    });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: new Counter(), appName: 'count' });
    for (const sessionId of ['  first  ', 'second']) {
      const { id } = await runner.sessionService.createSession({ appName: 'count', userId: 'ann', sessionId });
      tell({ id });
      for (const text of ['Hello.', 'Again.']) {
        const newMessage = { role: 'user', parts: [{ text }] };
        for await (const event of runner.runAsync({ userId: 'ann', sessionId: id, newMessage })) tell(event);
        const session = await runner.sessionService.getSession({
          appName: runner.appName,
          userId: 'ann',
          sessionId: id,
        });
        tell({ state: { ...session?.state } });
      }
    }
  },
};
export default program;
