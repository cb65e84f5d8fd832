import { exports } from 'cloudflare:workers';
import { beforeEach, expect, test } from 'vitest';
import { objects } from './fixtures/test-objects.ts';
import { work } from './fixtures/protocol-runners.ts';

beforeEach(() => {
  Object.assign(work, { passed: [], haltAt: 'ask', onUnfinishedRuns: 'close', onHalt: () => objects.dieNow() });
  return () => Object.assign(work, { haltAt: undefined, onUnfinishedRuns: 'resume', onHalt: () => undefined });
});

test('a request whose object dies while it waits for a run gets a retryable error', async () => {
  const user = `user-${crypto.randomUUID()}`;
  const session = `http://localhost/apps/shop/users/${user}/sessions/s`;
  const post = (url: string, body: object): Promise<Response> =>
    exports.default.fetch(new Request(url, { method: 'POST', body: JSON.stringify(body) }));
  await (await post(session, {})).text();
  const newMessage = { role: 'user', parts: [{ text: 'work' }] };
  const response = await post('http://localhost/run', { appName: 'shop', userId: user, sessionId: 's', newMessage });
  expect([response.status, response.headers.get('content-type')]).toEqual([503, 'application/json']);
  expect(await response.json()).toEqual({ error: expect.any(String), code: 'USER_OBJECT' });
  expect((await exports.default.fetch(new Request(session))).status).toBe(200);
});
