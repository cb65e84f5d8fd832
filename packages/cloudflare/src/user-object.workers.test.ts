import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, expect, test, vi } from 'vitest';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { ObjectRunRelay } from './object-run-relay.ts';
import { RunStore } from './run-store.ts';
import { BUCKET_USER } from './fixtures/test-objects.ts';
import { waiting } from './fixtures/protocol-runners.ts';
import { ask, idOf, objectOf, open, post, sessionOf } from './fixtures/user-client.ts';

let user = '';

function tell(text: string, userId = user, sessionId = 's', path = '/run_sse'): Promise<Response> {
  const newMessage = { role: 'user', parts: [{ text }] };
  return post(path, { appName: 'app', userId, sessionId, newMessage, streaming: true });
}

/** What an object answers that was evicted: it has its storage and none of its memory. */
async function askAnew(path: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  await evictDurableObject(objectOf(user));
  const response = await ask(path, { headers });
  return { status: response.status, text: await response.text() };
}

beforeEach(() => {
  user = `user-${crypto.randomUUID()}`;
  waiting.gate = Promise.withResolvers<void>();
});

test('a run is read to its end after the object lost its memory: nothing is missed and nothing comes twice', async () => {
  await open(user);
  const response = await tell('hello');
  const whole = await response.text();
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  const rest = whole.slice(whole.indexOf('id: 3\n'));
  expect(await askAnew(run, { 'last-event-id': '2' })).toEqual({ status: 200, text: rest });
  expect(await askAnew(run)).toEqual({ status: 200, text: whole });
  expect(await askAnew(run, { 'last-event-id': '4' })).toEqual({ status: 204, text: '' });
});

test.each(['/run', '/run_sse'])(
  'an object comes to rest after %s: no timer keeps it from being evicted',
  async (path) => {
    await open(user);
    await (await tell('hello', user, 's', path)).text();
    await evictDurableObject(objectOf(user));
    const session = (await (await ask(sessionOf(user))).json()) as { events: object[] };
    expect(session.events).toHaveLength(2);
  },
);

test('a run goes on when its client leaves', async () => {
  await open(user);
  const response = await tell('wait');
  await response.body?.cancel();
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  const followed = await ask(`${sessionOf(user)}/runs/${idOf(response)}`);
  expect(await followed.text()).toContain('id: 4\ndata: ');
});

test('a run that was going on when the object lost its memory says that it is lost, with what was stored of it', async () => {
  await open(user);
  const response = await tell('wait');
  const reader = response.body?.getReader();
  await reader?.read();
  const invocationId = idOf(response);
  await runInDurableObject(objectOf(user), async (_instance, { storage }) => {
    const after = new ObjectRunRelay(new RunStore(storage, 7), () => undefined);
    const remote = await after.find({ appName: 'app', userId: user, sessionId: 's' }, invocationId);
    expect(remote?.end).toMatchObject({ kind: 'lost', error: { code: 'RUN_HOST_LOST' } });
    waiting.gate.resolve();
  });
  await reader?.cancel();
});

test('what is committed can be read after the object died in mid-run; pieces that were not stored are missed by nobody who had them', async () => {
  await open(user);
  const response = await tell('pause');
  const reader = response.body?.getReader();
  let seen = '';
  while (!seen.includes('id: 4\n')) seen += new TextDecoder().decode((await reader?.read())?.value);
  await abortAllDurableObjects();
  await expect(reader?.read()).rejects.toThrow();
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  const anew = await (await ask(run)).text();
  const frames = anew.split('\n\n').filter((frame) => frame !== '');
  expect(seen.startsWith(`${frames[0]}\n\n`)).toBe(true);
  expect(frames.at(-1)).toContain('RUN_HOST_LOST');
  const late = await ask(run, { headers: { 'last-event-id': '4' } });
  expect([late.status, ((await late.json()) as { code: string }).code]).toEqual([410, 'RUN_HOST_LOST']);
});

test('a session is free at once when the object died that ran it', async () => {
  await open(user);
  const response = await tell('wait');
  await abortAllDurableObjects();
  await expect(response.text()).rejects.toThrow();
  const next = await tell('hello', user, 's', '/run');
  expect([next.status, ((await next.json()) as object[]).length]).toEqual([200, 1]);
});

test('an alarm rings while a run goes on, and is set again', async () => {
  await open(user);
  const response = await tell('wait');
  expect(await runDurableObjectAlarm(objectOf(user))).toBe(true);
  expect(await runDurableObjectAlarm(objectOf(user))).toBe(true);
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  expect(await response.text()).toContain('id: 4\n');
});

test('an object takes on as many runs as an object does, also when that limit is given as undefined', async () => {
  await open(user);
  const runs = Array.from({ length: 100 }, () => tell('wait'));
  await runs[0];
  await vi.waitUntil(async () => (await tell('hello', user, 's', '/run')).status === 503);
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  const texts = await Promise.all(runs.map(async (run) => (await run).text()));
  expect(texts.filter((text) => text.includes('one two three'))).toHaveLength(100);
});

test('the runs of a session that is deleted are forgotten', async () => {
  await open(user);
  const response = await tell('hello');
  await response.text();
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  await (await ask(sessionOf(user), { method: 'DELETE' })).text();
  await open(user);
  expect((await askAnew(run)).status).toBe(404);
});

test('artifacts lie in the bucket where there is one', async () => {
  user = `${BUCKET_USER}-${user}`;
  await open(user);
  await (await tell('file content', user, 's', '/run')).text();
  const { objects } = await env.ARTIFACTS.list();
  const keys = objects.map(({ key }) => key).filter((key) => key.includes(user));
  expect(keys).not.toEqual([]);
  expect(await (await ask(`${sessionOf(user)}/artifacts/note.txt`)).json()).toEqual({ text: 'content' });
});

test('runs of one session follow each other, and those of another session do not wait', async () => {
  await open(user);
  await open(user, 'other');
  const first = await tell('wait');
  const second = tell('hello', user, 's', '/run');
  expect((await tell('hello', user, 'other', '/run')).status).toBe(200);
  await runInDurableObject(objectOf(user), () => waiting.gate.resolve());
  await first.text();
  await (await second).text();
  const session = (await (await ask(sessionOf(user))).json()) as { events: { invocationId: string }[] };
  const order = session.events.map(({ invocationId }) => invocationId === idOf(first));
  expect(order).toEqual([true, true, false, false]);
});

test('a run that failed with a message of 3 MB is kept with as much of it as a row takes', async () => {
  await open(user);
  const response = await tell('fail 3000000');
  const whole = await response.text();
  const failure = whole.split('\n\n').at(-2) ?? '';
  expect(failure).toContain('as told!');
  expect(failure.length).toBeLessThan(100_000);
  const run = `${sessionOf(user)}/runs/${idOf(response)}`;
  expect((await askAnew(run)).text === whole).toBe(true);
});

test('an object whose storage fails once while it starts answers the next request', () =>
  runInDurableObject(env.EVENTLOOM_USERS.getByName(crypto.randomUUID()), async (_instance, state) => {
    let isAway = true;
    const storage = new Proxy(state.storage, {
      get(target, key) {
        if (key === 'getAlarm' && isAway) return () => Promise.reject(new Error('storage is away'));
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { UserObject } = createCloudflareServer<typeof env>({
      appNames: [],
      runners: () => [],
      allowUnauthenticated: true,
    });
    const object = new UserObject({ id: state.id, storage }, env);
    const ask = () => object.fetch(new Request('http://localhost/health'));
    await expect(ask()).rejects.toThrow('storage is away');
    isAway = false;
    expect((await ask()).status).toBe(200);
  }));
