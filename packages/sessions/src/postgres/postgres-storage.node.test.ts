import { createEvent, type Event, type EventParams, type SessionKey, SizeLimitError } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

const KEY: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };
const TABLES = ['sessions', 'events', 'state', 'initial_state', 'tool_calls'];

let database: TestDatabase;
let schema: string;
let pool: Pool;
let service: PostgresSessionService;
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.drop());
beforeEach(() => {
  schema = `schema_${crypto.randomUUID().replaceAll('-', '')}`;
  pool = new Pool({ connectionString: database.url });
  service = new PostgresSessionService({ pool, schema });
});
afterEach(() => pool.end());

const eventOf = (id: string, params: EventParams = {}): Event =>
  createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, ...params });

async function counts(): Promise<number[]> {
  const all = TABLES.map((table) => pool.query(`SELECT FROM ${schema}.eventloom_${table}`));
  return (await Promise.all(all)).map(({ rows }) => rows.length);
}

async function fill(key: SessionKey): Promise<void> {
  const session = await service.createSession({ ...key, state: { own: 1, 'user:name': 'Ada', 'app:motto': 'go' } });
  const lease = await service.acquireLease(key);
  await service.appendEvent({ session, event: eventOf('one', { actions: { stateDelta: { more: 1 } } }), lease });
  await service.recordToolCall(lease, { invocationId: 'e-1', callId: 'c', name: 'tool', status: 'started' });
}

test('deleting a session removes every row of it, and no row of another', async () => {
  const keys = [KEY, { ...KEY, sessionId: 'other' }, { ...KEY, userId: 'stranger' }, { ...KEY, appName: 'other app' }];
  for (const key of keys) await fill(key);
  // Sessions, events, state (two keys of each session, one of each of three users and of two apps), initial state, calls.
  expect(await counts()).toEqual([4, 4, 8 + 3 + 2, 4, 4]);
  await service.deleteSession(KEY);
  expect(await counts()).toEqual([3, 3, 6 + 3 + 2, 3, 3]);
  for (const key of keys.slice(1)) {
    const session = await service.getSession(key);
    expect(session?.events.map(({ id }) => id)).toEqual(['one']);
    expect({ ...session?.state }).toEqual({ own: 1, more: 1, 'user:name': 'Ada', 'app:motto': 'go' });
    await service.deleteSession(key);
  }
  expect(await counts()).toEqual([0, 0, 3 + 2, 0, 0]);
});

test('text of any characters and numbers of any size come back as they were', async () => {
  const value = { text: 'NUL \0, lone \ud800, \u{1f9f5} "\\', number: 0.1 + 0.2, big: 2 ** 53 - 1, small: 5e-324 };
  const key = { ...KEY, sessionId: `'; -- "\\ \u{1f9f5}` };
  const session = await service.createSession({ ...key, state: { 'a\\b"{},': value } });
  const timestamp = 1_767_323_045.123_456_7;
  const content = { role: 'model', parts: [{ text: value.text }] };
  const event = eventOf(`{"'\\}`, { timestamp, content, actions: { stateDelta: { '{1,NULL}': value } } });
  await service.appendEvent({ session, event });
  const stored = await service.getSession({ ...key, config: { afterTimestamp: timestamp } });
  expect(stored?.events).toEqual([event]);
  expect({ ...stored?.state }).toEqual({ 'a\\b"{},': value, '{1,NULL}': value });
  expect((await service.listSessions({ appName: 'app' })).sessions[0]?.lastUpdateTime).toBe(session.lastUpdateTime);
});

test('what is over 64 MiB of JSON is refused by its name, and nothing is changed', async () => {
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  const text = 'x'.repeat(64 * 1024 * 1024);
  const content = { role: 'model', parts: [{ text }] };
  const call = {
    invocationId: 'e-1',
    callId: 'large call',
    name: 'tool',
    status: 'finished',
    response: { text },
  } as const;
  const attempts = [
    [
      () => service.appendEvent({ session, event: eventOf('large event', { content }), lease }),
      /"large event".*67108864/,
    ],
    [() => service.createSession({ ...KEY, sessionId: 'next', state: { 'user:large': text } }), /"user:large"/],
    [() => service.recordToolCall(lease, call), /"large call"/],
  ] as const;
  for (const [attempt, message] of attempts) {
    const promise = attempt();
    await expect(promise).rejects.toThrow(SizeLimitError);
    await expect(promise).rejects.toThrow(message);
  }
  expect(await counts()).toEqual([1, 0, 0, 0, 0]);
}, 30_000);

test('an event of some megabytes comes back whole', async () => {
  const session = await service.createSession(KEY);
  const text = 'ä'.repeat(8 * 1024 * 1024);
  await service.appendEvent({ session, event: eventOf('large', { content: { role: 'model', parts: [{ text }] } }) });
  const stored = await service.getSession(KEY);
  expect(stored?.events[0]?.content?.parts?.[0]?.text === text).toBe(true);
}, 30_000);

test('a connection that is lost in a transaction fails the call, ends no process and is not used again', async () => {
  await service.createSession(KEY);
  const blocker = await pool.connect();
  await blocker.query('BEGIN');
  await blocker.query(`SELECT FROM ${schema}.eventloom_sessions FOR UPDATE`);
  const deletion = expect(service.deleteSession(KEY)).rejects.toThrow(/terminat/i);
  const end = `
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await pool.query(end)).rows.length === 0);
  await deletion;
  await blocker.query('COMMIT');
  blocker.release();
  expect((await service.getSession(KEY))?.id).toBe('session');
  await service.deleteSession(KEY);
  expect(await service.getSession(KEY)).toBe(undefined);
});

test('a server that cannot be reached is the error of the pool, and the service works when it can be', async () => {
  await service.migrate();
  const config = { connectionString: 'postgresql://nobody@127.0.0.1:1/none' };
  const late = new Pool(config);
  const waiting = new PostgresSessionService({ pool: late, schema });
  await expect(waiting.createSession(KEY)).rejects.toThrow(/ECONNREFUSED 127\.0\.0\.1:1/);
  late.options.connectionString = database.url;
  expect((await waiting.createSession(KEY)).id).toBe('session');
  await late.end();
});
