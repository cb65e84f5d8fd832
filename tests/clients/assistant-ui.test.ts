import {
  AdkEventAccumulator,
  type AdkMessage,
  createAdkSessionAdapter,
  createAdkStream,
} from '@assistant-ui/react-google-adk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apps, places, type Started } from './servers.ts';

/** Returns the texts of a message of the page. */
function textOf({ content }: AdkMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap((part) => ('text' in part ? [part.text] : [])).join('');
}

describe.each(places)('the parts of the assistant-ui runtime for the ADK against %s', (_place, start) => {
  let server: Started;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  async function open(appName: string) {
    const userId = 'parts';
    const { adapter, load, artifacts } = createAdkSessionAdapter({ apiUrl: server.url, appName, userId });
    const { remoteId, externalId } = await adapter.initialize('thread');
    const stream = createAdkStream({ api: server.url, appName, userId });
    const accumulator = new AdkEventAccumulator();
    const send = async (message: AdkMessage, stateDelta?: Record<string, unknown>): Promise<readonly AdkMessage[]> => {
      const { signal: abortSignal } = new AbortController();
      const config = { abortSignal, initialize: () => Promise.resolve({ remoteId, externalId }), stateDelta };
      for await (const event of await stream([message], config)) accumulator.processEvent(event);
      return accumulator.getMessages();
    };
    const say = (content: string): ReturnType<typeof send> => send({ id: crypto.randomUUID(), type: 'human', content });
    return { accumulator, adapter, artifacts, load, say, send, sessionId: remoteId };
  }

  test.each(apps)('%s: shows a streamed answer once, and loads the same thread later', async (appName) => {
    const { adapter, load, say, sessionId } = await open(appName);
    const shown = await say('hi');
    expect(shown.map(textOf)).toEqual(['You said: hi']);
    expect(shown.at(-1)).toMatchObject({ type: 'ai', status: { type: 'complete' } });
    expect((await load(sessionId)).messages.map(textOf)).toEqual(['hi', 'You said: hi']);
    expect((await adapter.list()).threads.map(({ remoteId }) => remoteId)).toContain(sessionId);
    await adapter.delete(sessionId);
    await expect(load(sessionId)).rejects.toThrow('404');
  });

  test.each(apps)('%s: shows a call with its result, and the state', async (appName) => {
    const { accumulator, say } = await open(appName);
    const shown = await say('call look');
    expect(shown).toMatchObject([
      { type: 'ai', tool_calls: [{ name: 'look' }] },
      { type: 'tool', name: 'look', content: '{"color":"blue"}' },
      { type: 'ai' },
    ]);
    expect(accumulator.getStateDelta()).toEqual({ seen: 'sky' });
  });

  test.each(apps)('%s: asks for a confirmation, also after a reload, and sends the answer', async (appName) => {
    const { accumulator, load, say, send, sessionId } = await open(appName);
    await say('call pay');
    const asked = accumulator.getToolConfirmations().find(({ toolName }) => toolName === 'pay');
    const [open0] = (await load(sessionId)).longRunningToolIds ?? [];
    expect(open0).toBe(asked?.toolCallId);
    const shown = await send({
      id: 'answer',
      type: 'tool',
      name: 'adk_request_confirmation',
      tool_call_id: asked?.toolCallId ?? '',
      content: JSON.stringify({ confirmed: true }),
      status: 'success',
    });
    expect(shown.map(textOf)).toContain('The tool said {"paid":true}.');
  });

  test.each(apps)('%s: lists and loads artifacts', async (appName) => {
    const { accumulator, artifacts, say, sessionId } = await open(appName);
    await say('call save');
    expect(accumulator.getArtifactDelta()).toEqual({ 'note.txt': 0 });
    expect(await artifacts.list(sessionId)).toEqual(['note.txt']);
    expect(await artifacts.load(sessionId, 'note.txt')).toEqual({ text: 'hello' });
  });

  test.each(apps)('%s: shows an error, and the next answer after it', async (appName) => {
    const { say } = await open(appName);
    const shown = await say('fail');
    expect(shown.at(-1)).toMatchObject({ type: 'ai', status: { type: 'incomplete', reason: 'error' } });
    expect((await say('hi')).map(textOf).at(-1)).toBe('You said: hi');
  });
});
