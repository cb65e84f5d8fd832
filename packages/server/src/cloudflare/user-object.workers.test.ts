import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStub, env } from 'cloudflare:workers';
import { beforeEach, expect, test, vi } from 'vitest';
import { ObjectRunRelay } from './object-run-relay.ts';
import { RunBuffer } from '../runs/run-buffer.ts';
import { RunStore } from './run-store.ts';
import { BUCKET_USER } from './fixtures/bucket-user.ts';
import { waiting } from './fixtures/protocol-runners.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';

let user = '';
beforeEach(() => {
  user = `user-${crypto.randomUUID()}`;
  waiting.gate = Promise.withResolvers<void>();
});

const objectOf = (userId: string): DurableObjectStub => env.EVENTLOOM_USERS.getByName(JSON.stringify(['app', userId]));
const sessionOf = (userId: string, sessionId = 's'): string => `/apps/app/users/${userId}/sessions/${sessionId}`;

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  return protocolServer.handler.fetch(new Request(`http://localhost${path}`, init), env);
}

function post(path: string, body: object): Promise<Response> {
  return ask(path, { method: 'POST', body: JSON.stringify(body) });
}

function tell(text: string, userId = user, sessionId = 's', path = '/run_sse'): Promise<Response> {
  const newMessage = { role: 'user', parts: [{ text }] };
  return post(path, { appName: 'app', userId, sessionId, newMessage, streaming: true });
}

/** An answer that is not read keeps its object from being evicted. */
async function open(userId: string, sessionId = 's'): Promise<void> {
  await (await post(sessionOf(userId, sessionId), {})).text();
}

const idOf = (response: Response): string => response.headers.get('eventloom-invocation-id') ?? '';

async function stateOf(userId: string): Promise<Record<string, unknown>> {
  const session = (await (await ask(sessionOf(userId))).json()) as { state: Record<string, unknown> };
  return session.state;
}

/** What an object answers that was evicted: it has its storage and none of its memory. */
async function askAnew(path: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  await evictDurableObject(objectOf(user));
  const response = await ask(path, { headers });
  return { status: response.status, text: await response.text() };
}

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

test('the pieces of an answer lie in one row, and the alarm deletes them when their time is over', async () => {
  await open(user);
  await (await tell('hello')).text();
  const stub = objectOf(user);
  const rows = (): Promise<number> =>
    runInDurableObject(
      stub,
      (_instance, { storage }) =>
        storage.sql.exec<{ rows: number }>('SELECT count(*) AS rows FROM eventloom_kept_run_chunks').one().rows,
    );
  expect(await rows()).toBe(1);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await rows()).toBe(1);
  await runInDurableObject(stub, (_instance, { storage }) => {
    storage.sql.exec('UPDATE eventloom_kept_runs SET ended_at = 1');
  });
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await rows()).toBe(0);
  expect(await runDurableObjectAlarm(stub)).toBe(false);
});

test('a run whose buffer cannot be stored comes to its end, and its session is free', async () => {
  await open(user);
  const response = await tell('wait');
  await runInDurableObject(objectOf(user), (_instance, { storage }) => {
    storage.sql.exec('ALTER TABLE eventloom_kept_run_chunks RENAME TO not_there');
    waiting.gate.resolve();
  });
  expect(await response.text()).toContain('id: 4\n');
  await runInDurableObject(objectOf(user), (_instance, { storage }) => {
    storage.sql.exec('ALTER TABLE not_there RENAME TO eventloom_kept_run_chunks');
  });
  expect((await tell('hello', user, 's', '/run')).status).toBe(200);
  expect((await ask(`${sessionOf(user)}/runs/${idOf(response)}`)).status).toBe(410);
});

test('a turn leaves the alarm that deletes its buffer, and no earlier one', async () => {
  await open(user);
  const before = Date.now();
  await (await tell('motto x')).text();
  await ask(sessionOf(user));
  const alarm = await runInDurableObject(objectOf(user), (_instance, { storage }) => storage.getAlarm());
  expect(alarm).toBeGreaterThanOrEqual(before + 300_000);
});

test('an object that its alarm woke leaves the alarm as it is until it rings', async () => {
  await runInDurableObject(objectOf(user), async (_instance, { id, storage }) => {
    const set: number[] = [];
    const ringing = {
      sql: storage.sql,
      transactionSync: <T>(work: () => T) => storage.transactionSync(work),
      getAlarm: () => Promise.resolve(set.at(-1) ?? 1),
      setAlarm: (dueMs: number) => Promise.resolve(void set.push(dueMs)),
      sync: () => storage.sync(),
    };
    const store = new RunStore(storage, 1);
    store.end(store.open({ appName: 'app', userId: user, sessionId: 's' }, 'e-1', 1), Date.now(), undefined);
    const woken = new protocolServer.UserObject({ id, storage: ringing }, env);
    await woken.fetch(new Request(`http://localhost${sessionOf(user)}`));
    expect(set).toEqual([]);
    await woken.alarm?.();
    expect(set).toHaveLength(1);
  });
});

test('app state that cannot be delivered is delivered at the alarm, by an object that knows nothing else of it', async () => {
  await open(user);
  const word = crypto.randomUUID();
  await runInDurableObject(objectOf(user), async (_instance, { id, storage }) => {
    const down = { getByName: () => ({ fetch: () => Promise.reject(new TypeError('down')) }) };
    const cutOff = new protocolServer.UserObject({ id, storage }, { ...env, EVENTLOOM_APPS: down });
    const newMessage = { role: 'user', parts: [{ text: `motto ${word}` }] };
    const body = JSON.stringify({ appName: 'app', userId: user, sessionId: 's', newMessage });
    await (await cutOff.fetch(new Request('http://localhost/run', { method: 'POST', body }))).text();
    expect(await storage.getAlarm()).toBeLessThan(Date.now() + 10_000);
    await new protocolServer.UserObject({ id, storage }, env).alarm?.();
  });
  const other = `${user}-other`;
  await open(other);
  expect((await stateOf(other))['app:motto']).toBe(word);
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

test('users are apart, and app state that one writes is seen by the other, once it is delivered', async () => {
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

test('a change of app state that is delivered twice counts once, and an old one never over a newer one', async () => {
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

test('nothing stays of the buffer of a run that could not be stored', async () => {
  await open(user);
  const response = await tell('wait');
  await runInDurableObject(objectOf(user), (_instance, { storage }) => {
    storage.sql.exec(`CREATE TRIGGER refused BEFORE INSERT ON eventloom_kept_run_chunks
      BEGIN SELECT RAISE(ABORT, 'as told'); END`);
    waiting.gate.resolve();
  });
  expect(await response.text()).toContain('id: 4\n');
  const left = await runInDurableObject(
    objectOf(user),
    (_instance, { storage }) => storage.sql.exec('SELECT count(*) AS rows FROM eventloom_kept_runs').one()['rows'],
  );
  expect(left).toBe(0);
});

test('who reads a resumed run from before what is kept of it is told so, and from where it can be read', () =>
  runInDurableObject(objectOf(user), async (_instance, { storage }) => {
    const key = { appName: 'app', userId: user, sessionId: 's' };
    const store = new RunStore(storage, 7);
    const pk = store.open(key, 'e-1', 1);
    const pad = 'x'.repeat(1024 * 1024);
    for (let seq = 1; seq <= 20; seq++) store.append(pk, seq, [JSON.stringify({ id: `${seq}`, pad })]);
    store.reopen(pk, 1_000_001);
    const { goneSeq = 0 } = store.find(key, 'e-1') ?? {};
    expect(goneSeq).toBeGreaterThan(0);
    const remote = await new ObjectRunRelay(store, () => undefined).find(key, 'e-1');
    expect(() => remote?.earlier?.(goneSeq - 1)).toThrow(expect.objectContaining({ code: 'RUN_EVENTS_GONE' }));
    expect(remote?.earlier?.(goneSeq)?.next().value).toMatchObject({ seq: goneSeq + 1 });
  }));

test('pieces are gathered up to 128 Ki characters, and not for a second if there are more', () =>
  runInDurableObject(objectOf(user), (_instance, { storage }) => {
    const key = { appName: 'app', userId: user, sessionId: 's' };
    const store = new RunStore(storage, 7);
    const buffer = new RunBuffer();
    const run = { key, invocationId: 'e-1', buffer, isRetold: false, isEnded: false, failureText: undefined };
    const publication = new ObjectRunRelay(store, () => undefined).publish(run);
    const say = (chars: number) => {
      buffer.append('x'.repeat(chars));
      publication.notify(false);
      return store.find(key, 'e-1')?.lastSeq;
    };
    expect([say(100_000), say(20_000), say(20_000), say(10)]).toEqual([0, 0, 3, 3]);
  }));
