import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase } from '@eventloom/test-postgres';
import { expect, test } from 'vitest';
import { startServer, temporaryFolder } from './program.ts';

/** An agent that yields one word, and then waits until it is cancelled. */
const SLOW = `
  import { BaseLlm, LlmAgent } from 'eventloom';

  class Slow extends BaseLlm {
    constructor() {
      super({ model: 'slow' });
    }
    async *generateContentAsync(_request, _stream, abortSignal) {
      yield { partial: true, content: { role: 'model', parts: [{ text: 'Well' }] } };
      await new Promise((resolve, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    }
  }
  export const rootAgent = new LlmAgent({ name: 'slow', model: new Slow() });
`;

test('a run of one process is followed and cancelled through another one', async () => {
  using folder = temporaryFolder();
  const database = await createTestDatabase();
  mkdirSync(join(folder.path, 'agents/slow'), { recursive: true });
  writeFileSync(join(folder.path, 'agents/slow/agent.js'), SLOW);
  const args = ['--sessions', database.url, '--agents', 'agents'];
  await using a = await startServer(args, { folder: folder.path });
  await using b = await startServer(args, { folder: folder.path });
  const session = '/apps/slow/users/ann/sessions/s';
  await fetch(`${a.url}${session}`, { method: 'POST' });
  const newMessage = { parts: [{ text: 'hi' }] };
  const body = JSON.stringify({ appName: 'slow', userId: 'ann', sessionId: 's', newMessage, streaming: true });
  const there = await fetch(`${a.url}/run_sse`, { method: 'POST', headers: { 'eventloom-event-ids': '1' }, body });
  const run = `${session}/runs/${there.headers.get('Eventloom-Invocation-Id')}`;
  let here = there;
  const follow = async () => (here = await fetch(`${b.url}${run}`)).status;
  await expect.poll(follow).toBe(200);
  // The answer is 202 if ending the run takes longer than a second.
  expect((await fetch(`${b.url}${run}`, { method: 'DELETE' })).ok).toBe(true);
  const text = await here.text();
  expect(text).toBe(await there.text());
  expect(text).toMatch(/^id: 0.001000001\ndata: .*"Well"[^]*"code":"RUN_ABORTED"\}\n\n$/);
  expect(await a.end('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
  expect(await b.end('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
  await database.drop();
});
