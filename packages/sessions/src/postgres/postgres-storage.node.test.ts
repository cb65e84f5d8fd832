import {
  createEvent,
  type Event,
  type EventParams,
  type Session,
  type SessionKey,
  SizeLimitError,
  systemPlatform,
} from '@eventloom/core';
import { SESSION_RECORD_VERSION } from '@eventloom/core/internal';
import { useTestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

const KEY: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };
const TABLES = ['sessions', 'events', 'state', 'initial_state', 'tool_calls', 'session_runs'];

const { url } = useTestDatabase();
let schema: string;
let pool: Pool;
let service: PostgresSessionService;
beforeEach(() => {
  schema = `schema_${crypto.randomUUID().replaceAll('-', '')}`;
  pool = new Pool({ connectionString: url });
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
  const { lease } = await service.beginRun({ ...key, invocationId: 'e-1', requestId: 'r-1' });
  await service.appendEvent({ session, event: eventOf('one', { actions: { stateDelta: { more: 1 } } }), lease });
  await service.recordToolCall(lease, { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'started' });
}

test('deleting a session deletes only its rows', async () => {
  const keys = [KEY, { ...KEY, sessionId: 'other' }, { ...KEY, userId: 'stranger' }, { ...KEY, appName: 'other app' }];
  for (const key of keys) await fill(key);
  // Sessions, events, state (two keys per session, one per user and app), initial state, tool calls, a run and its
  // request.
  expect(await counts()).toEqual([4, 4, 8 + 3 + 2, 4, 4, 8]);
  await service.deleteSession(KEY);
  expect(await counts()).toEqual([3, 3, 6 + 3 + 2, 3, 3, 6]);
  for (const key of keys.slice(1)) {
    const session = await service.getSession(key);
    expect(session?.events.map(({ id }) => id)).toEqual(['one']);
    expect({ ...session?.state }).toEqual({ own: 1, more: 1, 'user:name': 'Ada', 'app:motto': 'go' });
    await service.deleteSession(key);
  }
  expect(await counts()).toEqual([0, 0, 3 + 2, 0, 0, 0]);
});

test('text of any characters and numbers of any size are returned unchanged', async () => {
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

test('a value over 64 MiB of JSON is refused with its name and changes nothing', async () => {
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  const text = 'x'.repeat(64 * 1024 * 1024);
  const content = { role: 'model', parts: [{ text }] };
  const call = {
    invocationId: 'e-1',
    entryId: 'large call',
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
  expect(await counts()).toEqual([1, 0, 0, 0, 0, 0]);
});

test('values that are too large together are refused and change nothing', async () => {
  await service.migrate();
  const text = 'x'.repeat(5_000_000);
  const creation = service.createSession({ ...KEY, state: { a: text, b: text, c: text, d: text, 'user:e': 1 } });
  await expect(creation).rejects.toThrow(SizeLimitError);
  await expect(creation).rejects.toThrow('the state of the session takes 20000412 bytes in all');
  expect(await counts()).toEqual([0, 0, 0, 0, 0, 0]);
});

test('state that was too large before there was a limit can be made smaller', async () => {
  const session = await service.createSession({ ...KEY, state: { 'user:large': 1 } });
  await pool.query(
    `UPDATE ${schema}.eventloom_state SET value = '"' || repeat('x', 6000000) || '"' WHERE key = 'large'`,
  );
  const write = (length: number) => {
    const actions = { stateDelta: { 'user:large': 'y'.repeat(length) } };
    return service.appendEvent({ session, event: eventOf(`${length}`, { actions }) });
  };
  await expect(write(6_000_001)).rejects.toThrow(SizeLimitError);
  await write(5_000_000);
  await expect(write(5_000_001)).rejects.toThrow(SizeLimitError);
});

test('removed app and user keys are deleted by the next removal or session deletion', async () => {
  const session = await service.createSession({ ...KEY, state: { own: 1, 'user:name': 'Ada', 'app:motto': 'go' } });
  const other = await service.createSession({ ...KEY, sessionId: 'other' });
  const removedState = ['own', 'user:name', 'app:motto', 'user:none'];
  await service.appendEvent({ session, event: eventOf('one', { actions: { removedState } }) });
  for (const read of [await service.getSession(KEY), (await service.listSessions({ appName: 'app' })).sessions[0]]) {
    expect({ ...read?.state }).toEqual({});
  }
  expect({ ...(await service.createSession({ ...KEY, sessionId: 'third' })).state }).toEqual({});
  const removed = async (): Promise<unknown[]> =>
    (await pool.query(`SELECT key FROM ${schema}.eventloom_state WHERE removed ORDER BY key`)).rows;
  expect((await removed()).length).toBe(3);
  await service.appendEvent({ session, event: eventOf('next', { actions: { removedState: ['user:more'] } }) });
  expect(await removed()).toEqual([{ key: 'more' }]);
  const actions = { stateDelta: { 'user:name': 'Eva' } };
  await service.appendEvent({ session: other, event: eventOf('two', { actions }) });
  await service.deleteSession(KEY);
  const { rows } = await pool.query(`SELECT key, value FROM ${schema}.eventloom_state`);
  expect(rows).toEqual([{ key: 'name', value: '"Eva"' }]);
  // An import sets only absent keys; a removed key counts as absent.
  await service.appendEvent({ session: other, event: eventOf('three', { actions: { removedState: ['user:name'] } }) });
  const records = [
    {
      type: 'session',
      version: SESSION_RECORD_VERSION,
      appName: 'app',
      userId: 'user',
      id: 'imported',
      lastUpdateTime: 1,
      initialState: {},
      state: { 'user:name': 'Ida' },
    },
    { type: 'end', events: 0, toolCalls: 0 },
  ] as const;
  expect({ ...(await service.importSession({ records })).state }).toEqual({ 'user:name': 'Ida' });
});

test('sessions are listed by their last event even if the index lags behind', async () => {
  let nowMs = 1_000_000;
  const platform = { ...systemPlatform, now: () => nowMs };
  const own = new PostgresSessionService({ pool, schema, platform });
  const sessions: Session[] = [];
  for (let index = 0; index < 12; index++) {
    nowMs += 7000;
    sessions.push(await own.createSession({ ...KEY, sessionId: String(index), userId: `user ${index % 2}` }));
  }
  const updated = new Map<string, number>();
  // Steps shorter and longer than the lag, and one backwards, of a clock that is behind.
  const steps = [1000, 59_000, 20_000, 61_000, 200_000, -250_000, 5000, 0, 45_000];
  for (let index = 0; index < 60; index++) {
    nowMs += steps[index % steps.length] ?? 0;
    const session = sessions[(index * 5) % 12];
    if (!session) throw new Error('no session');
    await own.appendEvent({ session, event: eventOf(`event ${index}`) });
    updated.set(session.id, nowMs);
    const expected = [...updated].toSorted(([a, one], [b, two]) => two - one || (a < b ? -1 : 1)).map(([id]) => id);
    if (updated.size < 12) continue;
    for (const limit of [1, 3, 12]) {
      const listed: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await own.listSessions({ appName: 'app', limit, cursor });
        listed.push(...page.sessions.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(listed).toEqual(expected);
    }
    const { sessions: ofUser } = await own.listSessions({ appName: 'app', userId: 'user 1' });
    expect(ofUser.map(({ id }) => id)).toEqual(expected.filter((id) => Number(id) % 2 === 1));
  }
});

test('an event of several megabytes is returned whole', async () => {
  const session = await service.createSession(KEY);
  const text = 'ä'.repeat(8 * 1024 * 1024);
  await service.appendEvent({ session, event: eventOf('large', { content: { role: 'model', parts: [{ text }] } }) });
  const stored = await service.getSession(KEY);
  expect(stored?.events[0]?.content?.parts?.[0]?.text === text).toBe(true);
});

test('a connection lost in a transaction fails the call, and is not reused', async () => {
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

test('a page of sessions is limited by the size of their state, and a page of events by theirs', async () => {
  const large = 'x'.repeat(5 * 1024 * 1024);
  const ids = ['a', 'b', 'c', 'd', 'e'];
  for (const sessionId of ids) await service.createSession({ ...KEY, sessionId, state: { large, small: 1 } });
  const session = await service.createSession({ ...KEY, userId: 'stranger' });
  for (const id of ids)
    await service.appendEvent({ session, event: eventOf(id, { content: { parts: [{ text: large }] } }) });
  const pagesOf = async (read: (cursor?: string) => Promise<[string[], string | undefined]>): Promise<string[]> => {
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const [found, next] = await read(cursor);
      pages.push(found.join(''));
      cursor = next;
    } while (cursor !== undefined);
    return pages;
  };
  const sessions = (listing: { readonly userId?: string; readonly limit?: number }) =>
    pagesOf(async (cursor) => {
      const page = await service.listSessions({ appName: 'app', ...listing, cursor });
      return [page.sessions.map(({ id, state }) => `${id}${state['small'] === 1 ? '' : '!'}`).sort(), page.nextCursor];
    });
  const whole = (await sessions({ userId: 'user' })).map(({ length }) => length);
  expect(whole).toEqual([3, 2]);
  expect((await sessions({ userId: 'user', limit: 2 })).map(({ length }) => length)).toEqual([2, 2, 1]);
  expect((await sessions({ userId: 'user' })).join('').split('').sort()).toEqual(ids);
  expect((await sessions({})).join('')).toContain('session!');
  const events = (order: 'asc' | 'desc') =>
    pagesOf(async (cursor) => {
      const page = await service.listEvents({ ...KEY, userId: 'stranger', order, cursor });
      return [page.events.map(({ id }) => id), page.nextCursor];
    });
  expect(await events('asc')).toEqual(['abc', 'de']);
  expect(await events('desc')).toEqual(['edc', 'ba']);
});
