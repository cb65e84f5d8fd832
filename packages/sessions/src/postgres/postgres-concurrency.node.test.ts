import {
  createEvent,
  type Event,
  type EventActions,
  type Session,
  SessionBusyError,
  type SessionKey,
  SessionNotFoundError,
  systemPlatform,
} from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { fixedPlatform } from '@eventloom/testing';
import { Client, Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { untilWaiting } from './fixtures/until-waiting.ts';
import { PostgresDatabase } from './postgres-database.ts';
import type { PostgresClient, PostgresPool } from '@eventloom/core/internal';
import { PostgresSessionDriver } from './postgres-session-driver.ts';
import { PostgresSessionService, type PostgresSessionServiceOptions } from './postgres-session-service.ts';

const KEY: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };

const { url } = useTestDatabase();
let schema: string;
let pool: Pool;
let service: PostgresSessionService;
/** Another writer, whose transaction begins and ends on request of the test. */
let client: Client;
let only: PostgresPool;
let other: PostgresSessionService;

beforeEach(async () => {
  schema = `schema ${crypto.randomUUID()}`;
  pool = new Pool({ connectionString: url, options: '-c deadlock_timeout=500ms' });
  service = new PostgresSessionService({ pool, schema });
  await service.createSession(KEY);
  client = new Client({ connectionString: url, options: '-c deadlock_timeout=1h' });
  await client.connect();
  const single = Object.assign(client, { release: () => undefined });
  only = { query: (query) => single.query(query), connect: async () => single };
  other = new PostgresSessionService({ pool: only, schema });
  await other.migrate();
});
afterEach(async () => {
  await client.end();
  await pool.end();
});

const eventOf = (id: string, actions: Partial<EventActions> = {}): Event =>
  createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, actions });

async function read(from = service, key = KEY): Promise<Session> {
  const session = await from.getSession(key);
  if (!session) throw new Error('the session is gone');
  return session;
}

/** Locks the rows of all sessions until the other writer ends its transaction. */
async function lockRows(): Promise<void> {
  await client.query(`BEGIN; SELECT FROM "${schema}".eventloom_sessions FOR UPDATE`);
}

test('an append that waited for the same event is a duplicate', async () => {
  const [mine, theirs] = [await read(), await read(other)];
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { stateDelta: { writer: 'other' } }) });
  const append = service.appendEvent({ session: mine, event: eventOf('one', { stateDelta: { writer: 'mine' } }) });
  await untilWaiting(pool);
  await client.query('COMMIT');
  expect((await append).actions.stateDelta).toEqual({ writer: 'other' });
  expect(mine.lastSeq).toBe(1);
  const stored = await read();
  expect(stored.events.map(({ id }) => id)).toEqual(['one']);
  expect({ ...stored.state }).toEqual({ writer: 'other' });
});

test('an append that waited removes keys set by the append before it', async () => {
  const [mine, theirs] = [await read(), await read(other)];
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { stateDelta: { key: 1, kept: 1 } }) });
  const append = service.appendEvent({ session: mine, event: eventOf('two', { removedState: ['key'] }) });
  await untilWaiting(pool);
  await client.query('COMMIT');
  await append;
  const stored = await read();
  expect(stored.events.map(({ id }) => id)).toEqual(['one', 'two']);
  expect({ ...stored.state }).toEqual({ kept: 1 });
  expect({ ...mine.state }).toEqual({ kept: 1 });
});

test('appends that waited get distinct sequence numbers', async () => {
  const theirs = await read(other);
  const ids = Array.from({ length: 8 }, (_, index) => `event ${index}`);
  const sessions = await Promise.all(ids.map(() => read()));
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('first') });
  // One of the ten connections of the pool stays free to observe the others.
  const appends = ids.map(async (id, index) =>
    service.appendEvent({ session: sessions[index] as Session, event: eventOf(id) }),
  );
  await untilWaiting(pool, ids.length);
  await client.query('COMMIT');
  await Promise.all(appends);
  const stored = await read();
  expect(stored.lastSeq).toBe(9);
  expect(stored.events.map(({ id }) => id).toSorted()).toEqual([...ids, 'first']);
});

test('an append that waited while its lease was taken over is stale and stores nothing', async () => {
  const mine = await read();
  const lease = await service.acquireLease(KEY);
  await client.query('BEGIN');
  await other.acquireLease({ ...KEY, onBusy: 'interrupt' });
  const append = service.appendEvent({ session: mine, event: eventOf('mine', { stateDelta: { key: 1 } }), lease });
  const call = { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'started' } as const;
  const record = service.recordToolCall(lease, call);
  const results = Promise.allSettled([append, record, service.renewLease(lease)]);
  await untilWaiting(pool, 3);
  await client.query('COMMIT');
  for (const { status } of await results) expect(status).toBe('rejected');
  const stored = await read();
  expect(stored.events.map(({ id }) => id)).toEqual([]);
  expect({ ...stored.state }).toEqual({});
  expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([]);
});

test('one of two concurrent claims gets the session, and the other gets the expiry of its lease', async () => {
  await client.query('BEGIN');
  const lease = await other.acquireLease(KEY);
  const claim = service.acquireLease({ ...KEY, onBusy: 'reject' });
  const refused = expect(claim).rejects.toThrow(/is busy/);
  await untilWaiting(pool);
  await client.query('COMMIT');
  await refused;
  await other.renewLease(lease);
});

test('a claim that waited for an append under an expired lease finds the lease renewed', async () => {
  const at = (nowMs: number): PostgresSessionServiceOptions['platform'] => ({ ...systemPlatform, now: () => nowMs });
  const leaseClock = 'platform';
  const early = new PostgresSessionService({ pool, schema, leaseClock, platform: at(0) });
  const lease = await early.acquireLease({ ...KEY, ttlMs: 1000 });
  const late = new PostgresSessionService({ pool, schema, leaseClock, platform: at(5000) });
  const owner = new PostgresSessionService({ pool: only, schema, leaseClock, platform: at(4999) });
  const theirs = await read(owner);
  await client.query('BEGIN');
  await owner.appendEvent({ session: theirs, event: eventOf('one'), lease });
  const claim = expect(late.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
  await untilWaiting(pool);
  await client.query('COMMIT');
  await claim;
  await owner.appendEvent({ session: theirs, event: eventOf('two'), lease });
});

test('an append without a lease that waited for one under an expired lease is not stored between', async () => {
  const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
  const session = await read();
  const driver = new PostgresSessionDriver(new PostgresDatabase(pool, { schema, leaseClock: 'platform' }));
  const owner = new PostgresSessionDriver(new PostgresDatabase(only, { schema, leaseClock: 'platform' }));
  const nowMs = Date.now() + 5000;
  const append = { ...KEY, incarnation: session.incarnation ?? '', writes: [], nowMs };
  await client.query('BEGIN');
  expect(await owner.appendEvent({ ...append, event: eventOf('one'), lease })).toEqual({ status: 'stored', seq: 1 });
  const outside = driver.appendEvent({ ...append, event: eventOf('two'), lease: undefined });
  await untilWaiting(pool);
  await client.query('COMMIT');
  expect(await outside).toEqual({ status: 'busy', freeAtMs: nowMs + 1000 });
  const later = { ...append, nowMs: nowMs + 1000 };
  expect(await driver.appendEvent({ ...later, event: eventOf('two'), lease: undefined })).toMatchObject({ seq: 2 });
  expect(await owner.appendEvent({ ...later, event: eventOf('three'), lease })).toEqual({ status: 'stale' });
});

test('a takeover during an append continues after it', async () => {
  const [mine, theirs] = [await read(), await read(other)];
  const lease = await other.acquireLease(KEY);
  await other.appendEvent({ session: theirs, event: eventOf('one'), lease });
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: { ...eventOf('two'), timestamp: 9 }, lease });
  const claim = service.acquireLease({ ...KEY, onBusy: 'interrupt' });
  await untilWaiting(pool);
  await client.query('COMMIT');
  const taken = await claim;
  await service.appendEvent({ session: mine, event: eventOf('three'), lease: taken });
  await service.appendEvent({ session: mine, event: eventOf('four'), lease: taken });
  expect((await read()).events.map(({ id }) => id)).toEqual(['one', 'two', 'three', 'four']);
  const window = await service.getSession({ ...KEY, config: { afterTimestamp: 9 } });
  expect(window?.events.map(({ id }) => id)).toEqual(['two']);
});

test.each([true, false])(
  'a run that waited for another to start is refused, with a message: %s',
  async (hasMessage) => {
    await client.query('BEGIN');
    await other.beginRun({ ...KEY, invocationId: 'first', resumable: true });
    const message = hasMessage ? eventOf('two') : undefined;
    const pending = service.beginRun({ ...KEY, invocationId: 'second', onBusy: 'interrupt', message });
    const refused = expect(pending).rejects.toMatchObject({ code: 'RUN_OPEN', run: { invocationId: 'first' } });
    await untilWaiting(pool);
    await client.query('COMMIT');
    await refused;
    expect((await service.listOpenRuns({ appName: 'app' })).runs).toMatchObject([
      { invocationId: 'first', attempts: 1 },
    ]);
  },
);

test.each([true, false])(
  'a request that waited for the same request to start is known, with a message: %s',
  async (hasMessage) => {
    await client.query('BEGIN');
    const requestId = 'r-1';
    const first = await other.beginRun({ ...KEY, invocationId: 'first', requestId });
    await other.releaseLease(first.lease);
    const message = hasMessage ? eventOf('two') : undefined;
    const pending = service.beginRun({ ...KEY, invocationId: 'second', requestId, onBusy: 'interrupt', message });
    const refused = expect(pending).rejects.toMatchObject({ code: 'REQUEST_KNOWN', invocationId: 'first' });
    await untilWaiting(pool);
    await client.query('COMMIT');
    await refused;
    expect((await service.getSession(KEY))?.lastSeq).toBe(0);
  },
);

test.each(['queue', 'interrupt'] as const)(
  'a request that waited for its cancellation does not begin, with onBusy %s',
  async (onBusy) => {
    const requestId = 'r-1';
    for (const message of [eventOf('two'), undefined]) {
      for (const isHeld of onBusy === 'interrupt' ? [false, true] : [false]) {
        const key = { ...KEY, sessionId: `${message?.id} ${isHeld}` };
        await service.createSession(key);
        const lease = await service.acquireLease(key);
        if (!isHeld) await service.releaseLease(lease);
        await lockRows();
        const cancelled = service.cancelRequest({ ...key, id: requestId });
        await untilWaiting(pool);
        const pending = service.beginRun({ ...key, invocationId: 'e-1', requestId, onBusy, message });
        const refused = expect(pending).rejects.toMatchObject({ code: 'REQUEST_KNOWN', invocationId: requestId });
        await untilWaiting(pool, 2);
        await client.query('COMMIT');
        await refused;
        expect(await cancelled).toMatchObject({ invocationId: requestId, end: { code: 'RUN_ABORTED' } });
        expect((await service.getSession(key))?.lastSeq).toBe(0);
        if (isHeld) await service.renewLease(lease);
      }
    }
  },
);

test('a request that began while its cancellation waited is not cancelled', async () => {
  await client.query('BEGIN');
  await other.beginRun({ ...KEY, invocationId: 'e-1', requestId: 'r-1', message: eventOf('one') });
  const cancelled = service.cancelRequest({ ...KEY, id: 'r-1' });
  await untilWaiting(pool);
  await client.query('COMMIT');
  expect(await cancelled).toMatchObject({ invocationId: 'e-1', firstSeq: 1, open: { attempts: 1 } });
});

test('a run that waited for an append starts after it and reads its event', async () => {
  const theirs = await read(other);
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { stateDelta: { key: 1 } }) });
  const pending = service.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('two') });
  await untilWaiting(pool);
  await client.query('COMMIT');
  const { session, lease } = await pending;
  expect(session.events.map(({ id }) => id)).toEqual(['one', 'two']);
  expect({ ...session.state }).toEqual({ key: 1 });
  await service.appendEvent({ session, event: eventOf('three'), lease });
  expect((await read()).events.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
});

test('the message of a run that waited for a compaction has a timestamp after its range', async () => {
  const theirs = await read(other);
  const compactedContent = { role: 'model', parts: [{ text: 'summary' }] };
  const compaction = { startTimestamp: 0, endTimestamp: 9, compactedContent };
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { compaction }) });
  const pending = service.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('two') });
  await untilWaiting(pool);
  await client.query('COMMIT');
  expect((await pending).message?.timestamp).toBeGreaterThan(9);
});

test('a run that waited for the append of its own message gets the stored event', async () => {
  const theirs = await read(other);
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { stateDelta: { writer: 'other' } }) });
  const message = eventOf('one', { stateDelta: { writer: 'mine' } });
  const pending = service.beginRun({ ...KEY, invocationId: 'e-1', message });
  await untilWaiting(pool);
  await client.query('COMMIT');
  const begun = await pending;
  expect(begun.message?.actions.stateDelta).toEqual({ writer: 'other' });
  expect(begun.session.lastSeq).toBe(1);
  expect({ ...(await read()).state }).toEqual({ writer: 'other' });
});

test('one of two concurrent runs is refused, and nothing of it is stored', async () => {
  await client.query('BEGIN');
  const first = await other.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('one'), resumable: true });
  const second = { ...KEY, invocationId: 'e-2', message: eventOf('two', { stateDelta: { 'app:key': 1 } }) };
  const refused = expect(service.beginRun({ ...second, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
  await untilWaiting(pool);
  await client.query('COMMIT');
  await refused;
  expect((await read()).events.map(({ id }) => id)).toEqual(['one']);
  expect({ ...(await read()).state }).toEqual({});
  expect((await service.listOpenRuns(KEY)).runs.map(({ invocationId }) => invocationId)).toEqual(['e-1']);
  await other.renewLease(first.lease);
});

test('a repeated beginRun of one run continues after its message', async () => {
  await client.query('BEGIN');
  const first = await other.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('one'), resumable: true });
  const pending = service.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('two'), onBusy: 'interrupt' });
  await untilWaiting(pool);
  await client.query('COMMIT');
  const { session, lease } = await pending;
  expect(session.events.map(({ id }) => id)).toEqual(['one', 'two']);
  expect(lease.epoch).toBeGreaterThan(first.lease.epoch);
  expect((await service.listOpenRuns(KEY)).runs).toMatchObject([{ invocationId: 'e-1', attempts: 2 }]);
  await expect(async () => other.renewLease(first.lease)).rejects.toThrow(/epoch/);
});

test('a run that waited for the creation of the session starts in it', async () => {
  const key = { ...KEY, sessionId: 'new' };
  await client.query('BEGIN');
  const made = await other.createSession({ ...key, state: { maker: 'other' } });
  const pending = service.beginRun({ ...key, invocationId: 'e-1', create: true, message: eventOf('one') });
  await untilWaiting(pool);
  await client.query('COMMIT');
  const { session } = await pending;
  expect(session.incarnation).toBe(made.incarnation);
  expect({ ...session.state }).toEqual({ maker: 'other' });
  expect(session.events.map(({ id }) => id)).toEqual(['one']);
});

test('a run that waited for a deletion throws SessionNotFoundError', async () => {
  await client.query('BEGIN');
  await client.query(`DELETE FROM "${schema}".eventloom_sessions`);
  const pending = expect(async () =>
    service.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('one') }),
  ).rejects.toThrow(SessionNotFoundError);
  await untilWaiting(pool);
  await client.query('COMMIT');
  await pending;
});

test('a run with create that waited for a deletion creates the session again', async () => {
  const before = await read();
  await client.query('BEGIN');
  await client.query(`DELETE FROM "${schema}".eventloom_sessions`);
  const pending = service.beginRun({ ...KEY, invocationId: 'e-1', create: true, message: eventOf('one') });
  await untilWaiting(pool);
  await client.query('COMMIT');
  const { session } = await pending;
  expect(session.incarnation).not.toBe(before.incarnation);
  expect(session.events.map(({ id }) => id)).toEqual(['one']);
});

test('a refused run does not wait for the session and locks nothing', async () => {
  const lease = await other.acquireLease(KEY);
  await client.query('BEGIN');
  await other.recordToolCall(lease, { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'started' });
  const second = { ...KEY, invocationId: 'e-2', message: eventOf('two'), onBusy: 'reject' } as const;
  await expect(service.beginRun(second)).rejects.toThrow(SessionBusyError);
  await client.query('COMMIT');
});

test('one of two concurrent creations succeeds, and the other throws', async () => {
  const key = { ...KEY, sessionId: 'new' };
  await client.query('BEGIN');
  await other.createSession({ ...key, state: { maker: 'other' } });
  const refused = expect(service.createSession({ ...key, state: { maker: 'mine' } })).rejects.toThrow(/exists/);
  await untilWaiting(pool);
  await client.query('COMMIT');
  await refused;
  expect({ ...(await read(service, key)).state }).toEqual({ maker: 'other' });
});

test('a deletion that waited for an append deletes its event', async () => {
  const theirs = await read(other);
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { stateDelta: { key: 1 } }) });
  const deletion = service.deleteSession(KEY);
  await untilWaiting(pool);
  await client.query('COMMIT');
  await deletion;
  for (const table of ['sessions', 'events', 'state']) {
    expect((await pool.query(`SELECT * FROM "${schema}".eventloom_${table}`)).rows).toEqual([]);
  }
});

test('a write to one session does not block another', async () => {
  const key = { ...KEY, sessionId: 'next' };
  const next = await service.createSession({ ...key, state: { 'user:count': 0 } });
  await client.query('BEGIN');
  await other.appendEvent({ session: await read(other), event: eventOf('one', { stateDelta: { 'user:mine': 1 } }) });
  const stateDelta = { own: 1, 'user:count': 1, 'app:count': 1 };
  await service.appendEvent({ session: next, event: eventOf('one', { stateDelta, removedState: ['user:none'] }) });
  const lease = await service.acquireLease(key);
  await service.releaseLease(lease);
  await client.query('COMMIT');
  expect({ ...(await read()).state }).toEqual({ 'user:count': 1, 'user:mine': 1, 'app:count': 1 });
});

test('an append rolled back by a deadlock is retried', async () => {
  const state = { 'user:a': 0, 'user:b': 0 };
  const mine = await service.createSession({ ...KEY, sessionId: 'mine', state });
  const theirs = await read(other);
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf('one', { stateDelta: { 'user:b': 1 } }) });
  // This transaction has user:a and waits for user:b; then the other one waits for user:a.
  const append = service.appendEvent({
    session: mine,
    event: eventOf('two', { stateDelta: { 'user:a': 2, 'user:b': 2 } }),
  });
  await untilWaiting(pool);
  await other.appendEvent({ session: theirs, event: eventOf('three', { stateDelta: { 'user:a': 3 } }) });
  await client.query('COMMIT');
  await append;
  expect({ ...(await read()).state }).toEqual({ 'user:a': 2, 'user:b': 2 });
  expect((await read()).lastSeq).toBe(2);
  expect((await read(service, { ...KEY, sessionId: 'mine' })).lastSeq).toBe(1);
});

test('a process that is stopped inside a transaction does not keep its session locked for others', async () => {
  const reached = Promise.withResolvers<void>();
  // A stopped process sends nothing, and its timers do not run.
  const stoppedClient: PostgresClient = {
    on: () => undefined,
    release: () => undefined,
    query: (query) => {
      if (query.text !== 'COMMIT') return client.query(query);
      reached.resolve();
      return new Promise(() => undefined);
    },
  };
  client.on('error', () => undefined);
  const stoppedPool = { ...only, connect: async () => stoppedClient };
  const options = { pool: stoppedPool, schema, queryTimeoutMs: 1000, platform: fixedPlatform() };
  const stopped = new PostgresSessionService(options);
  const { lease, session } = await service.beginRun({ ...KEY, invocationId: 'e-1' });
  void stopped.appendEvents({ session, lease, appends: [{ event: eventOf('one') }, { event: eventOf('two') }] });
  await reached.promise;
  await service.appendEvent({ session, lease, event: eventOf('mine') });
  expect((await read()).events.map(({ id }) => id)).toEqual(['mine']);
});
