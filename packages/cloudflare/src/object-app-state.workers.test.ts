import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, expect, test } from 'vitest';
import { waiting } from './fixtures/protocol-runners.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';
import { objectOf, open, post, stateOf } from './fixtures/user-client.ts';

let user = '';

function tell(text: string, userId = user, sessionId = 's', path = '/run_sse'): Promise<Response> {
  const newMessage = { role: 'user', parts: [{ text }] };
  return post(path, { appName: 'app', userId, sessionId, newMessage, streaming: true });
}

beforeEach(() => {
  user = `user-${crypto.randomUUID()}`;
  waiting.gate = Promise.withResolvers<void>();
});

test('undelivered app state is delivered at the alarm, even if the object was evicted', async () => {
  await open(user);
  const word = crypto.randomUUID();
  await runInDurableObject(objectOf(user), async (_instance, { id, storage }) => {
    const down = { getByName: () => ({ fetch: () => Promise.reject(new TypeError('down')) }) };
    const isolated = new protocolServer.UserObject({ id, storage }, { ...env, EVENTLOOM_APPS: down });
    const newMessage = { role: 'user', parts: [{ text: `motto ${word}` }] };
    const body = JSON.stringify({ appName: 'app', userId: user, sessionId: 's', newMessage });
    await (await isolated.fetch(new Request('http://localhost/run', { method: 'POST', body }))).text();
    expect(await storage.getAlarm()).toBeLessThan(Date.now() + 10_000);
    await new protocolServer.UserObject({ id, storage }, env).alarm?.();
  });
  const other = `${user}-other`;
  await open(other);
  expect((await stateOf(other))['app:motto']).toBe(word);
});

test('users are separate, and another user sees app state once it is delivered', async () => {
  const other = `${user}-other`;
  await open(user);
  await open(other);
  const word = crypto.randomUUID();
  await (await tell(`motto ${word}`, user, 's', '/run')).text();
  expect(await stateOf(user)).toMatchObject({ 'app:motto': word, 'user:word': word });
  await runDurableObjectAlarm(objectOf(user));
  await evictDurableObject(objectOf(other));
  const seen = await stateOf(other);
  expect(seen['app:motto']).toBe(word);
  expect(seen['user:word']).toBeUndefined();
});

test('an app state change delivered twice counts once, and an old one never replaces a newer one', async () => {
  const app = env.EVENTLOOM_APPS.getByName(crypto.randomUUID());
  const exchange = async (sender: string, knownVersion: number, pending: object[]) => {
    const body = JSON.stringify({ sender, knownVersion, pending });
    return (await app.fetch(new Request('https://app.internal/', { method: 'POST', body }))).json();
  };
  await exchange('a', 0, [{ seq: 1, key: 'k', value: '1', writtenMs: 1 }]);
  await exchange('b', 0, [{ seq: 1, key: 'k', value: '2', writtenMs: 2 }]);
  const again = await exchange('a', 0, [{ seq: 1, key: 'k', value: '1', writtenMs: 1 }]);
  expect(again).toEqual({ changes: [{ key: 'k', value: '2' }], version: 2, hasMore: false });
  expect(await exchange('a', 2, [])).toEqual({ changes: [], version: 2, hasMore: false });
});
