import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { RunBuffer } from '@eventloom/server/internal';
import { beforeEach, expect, test } from 'vitest';
import { ObjectRunRelay } from './object-run-relay.ts';
import { RunStore } from './run-store.ts';
import { waiting } from './fixtures/protocol-runners.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';
import { ask, idOf, objectOf, open, post, sessionOf } from './fixtures/user-client.ts';

let user = '';

function tell(text: string, userId = user, sessionId = 's', path = '/run_sse'): Promise<Response> {
  const newMessage = { role: 'user', parts: [{ text }] };
  return post(path, { appName: 'app', userId, sessionId, newMessage, streaming: true });
}

beforeEach(() => {
  user = `user-${crypto.randomUUID()}`;
  waiting.gate = Promise.withResolvers<void>();
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
