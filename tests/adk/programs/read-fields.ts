import {
  createEvent,
  type Event,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  StreamingMode,
  toStructuredEvents,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program, Tell } from '../stage.ts';

const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays a bill.',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const agent = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', instruction: 'Pay.', tools: [pay] });

const countOf = (values: object | undefined): number | undefined => values && Object.keys(values).length;

/** Reports what a page of a chat reads of an event. */
function show(tell: Tell, event: Event): void {
  const { actions, longRunningToolIds, partial } = event;
  tell({
    waiting: countOf(longRunningToolIds),
    confirmations: countOf(actions.requestedToolConfirmations),
    credentials: countOf(actions.requestedAuthConfigs),
    isChunk: String(partial),
  });
}

const program: Program = {
  replies: [jsonReply(wireResponse('Nothing to pay.')), sseReply(wireChunks(['No', 'thing.']))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'bills' });
    const key = { appName: 'bills', userId: 'ann' };
    const session = await runner.sessionService.createSession(key);
    const begin = Date.now();
    for (const streamingMode of [StreamingMode.NONE, StreamingMode.SSE]) {
      const newMessage = createUserContent('Pay the bill.');
      const run = runner.runAsync({ ...key, sessionId: session.id, newMessage, runConfig: { streamingMode } });
      for await (const event of run) {
        show(tell, event);
        if (event.actions.requestedToolConfirmations['none']) tell('a confirmation of nothing');
      }
    }
    const read = async (afterTimestamp: number): Promise<number | undefined> =>
      (await runner.sessionService.getSession({ ...key, sessionId: session.id, config: { afterTimestamp } }))?.events
        .length;
    tell({ since: await read(begin - 60_000), later: await read(begin + 60_000) });
    const stored = await runner.sessionService.getSession({ ...key, sessionId: session.id });
    for (const { author, longRunningToolIds, actions } of stored?.events ?? [])
      tell({ author, waiting: countOf(longRunningToolIds), asks: countOf(actions.requestedToolConfirmations) });

    const { sessions, ...counts } = await runner.sessionService.listSessions(key);
    tell({ sessions: sessions.length, counts });

    const empty = createEvent({ author: 'clerk' });
    tell({ ...empty, id: 'e', timestamp: 1 });
    tell(toStructuredEvents(createEvent({ author: 'clerk', errorCode: 'SAFETY', errorMessage: 'No.' })));
    const written = { ...empty, timestamp: Date.now(), content: createUserContent('A note.') };
    await runner.sessionService.appendEvent({ session: stored ?? session, event: written });
    tell({ since: await read(begin - 60_000) });
  },
};
export default program;
