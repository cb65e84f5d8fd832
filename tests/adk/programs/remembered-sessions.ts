import { BaseAgent, createEvent, createSession, type Event, InMemoryRunner, type InvocationContext } from '@google/adk';
import { createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

const said = (author: string, time: string, text: string): Event =>
  createEvent({
    author,
    timestamp: Date.parse(time),
    content: { role: author === 'user' ? 'user' : 'model', parts: [{ text }] },
  });

/** Adds past sessions of this and of another user to the memory, and searches it for the message. */
class Librarian extends BaseAgent {
  constructor() {
    super({ name: 'librarian' });
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { appName, userId, memoryService, invocationId } = context;
    const query = context.userContent?.parts?.[0]?.text ?? '';
    const events = [
      said('user', '2026-02-10T09:15:00.000Z', 'We go to Lisbon in May.'),
      said('guide', '2026-02-10T09:16:00.000Z', 'The Lisbon hotel is booked.'),
    ];
    await memoryService?.addSessionToMemory(createSession({ id: 'past', appName, userId, events }));
    const secret = [said('user', '2026-02-11T09:15:00.000Z', 'Lisbon is a secret.')];
    await memoryService?.addSessionToMemory(createSession({ id: 'other', appName, userId: 'bob', events: secret }));
    const { memories } = (await memoryService?.searchMemory({ appName, userId, query })) ?? { memories: [] };
    const lines = memories.map(
      ({ author, content, timestamp }) => `${timestamp} ${author}: ${content.parts?.[0]?.text}`,
    );
    yield createEvent({
      invocationId,
      author: this.name,
      content: { role: 'model', parts: [{ text: lines.toSorted().join('\n') }] },
    });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: new Librarian(), appName: 'trips' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'trips', userId: 'ann' });
    const newMessage = createUserContent('Lisbon hotel');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
    tell((await runner.memoryService?.searchMemory({ appName: 'trips', userId: 'eve', query: 'Lisbon' })) ?? {});
  },
};
export default program;
