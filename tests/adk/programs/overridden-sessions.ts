import {
  type AppendEventRequest,
  type Event,
  type GetSessionRequest,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type Session,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const KEY = { appName: 'archive', userId: 'ann', sessionId: 's1' };

/** Keeps a log of what is said, hides the digits of the user, refuses more than two messages, and adds a place to each session. */
class LoggedSessions extends InMemorySessionService {
  readonly log: string[] = [];

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    const { session, event } = request;
    if (event.author === 'user' && this.log.filter((line) => line.startsWith('user')).length === 2)
      throw new Error('two messages are enough');
    const text = event.content?.parts?.[0]?.text ?? '';
    const content = event.author === 'user' ? createUserContent(text.replaceAll(/\d/g, '*')) : event.content;
    const stored = await super.appendEvent({ session, event: { ...event, ...(content && { content }) } });
    this.log.push(`${stored.author}: ${stored.content?.parts?.[0]?.text}`);
    return stored;
  }

  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const session = await super.getSession(request);
    if (session) session.state['place'] = 'Rome';
    return session;
  }

  count(): Promise<number> {
    return this.getSession(KEY).then((session) => session?.events.length ?? 0);
  }
}

const program: Program = {
  replies: [jsonReply(wireResponse('Noted.')), jsonReply(wireResponse('You said it.'))],
  async main(tell) {
    const sessionService = new LoggedSessions();
    const agent = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', instruction: 'You are in {place}.' });
    const runner = new Runner({ appName: 'archive', agent, sessionService });
    await sessionService.createSession(KEY);
    for (const text of ['My pin is 1234.', 'What is it?', 'And now?']) {
      try {
        const newMessage = createUserContent(text);
        for await (const event of runner.runAsync({ userId: 'ann', sessionId: 's1', newMessage })) tell(event);
      } catch (error) {
        tell({ refused: error instanceof Error ? error.message : '' });
      }
    }
    tell({ log: sessionService.log, events: await sessionService.count() });
    const refused = await sessionService.getSession({ ...KEY, sessionId: 'none' }).then((session) => session?.id);
    tell({ missing: refused ?? null });
  },
};
export default program;
