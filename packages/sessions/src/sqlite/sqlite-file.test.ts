import {
  ConfigurationError,
  createEvent,
  SessionBusyError,
  SessionNotFoundError,
  SizeLimitError,
} from '@eventloom/core';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { passTime } from '../conformance/samples.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  path = join(folder, 'sessions.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function event(id: string, stateDelta: Record<string, unknown> = {}) {
  return createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, actions: { stateDelta } });
}

/** Counts the rows of every table. */
function rowCounts(database: DatabaseSync): Record<string, unknown> {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'eventloom%'")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => [name, database.prepare(`SELECT count(*) AS rows FROM ${String(name)}`).get()?.['rows']]),
  );
}

test('a reopened file has all events, state, leases and ledger entries', async () => {
  const platform = new ManualPlatform();
  const first = new SqliteSessionService({ path, platform });
  const session = await first.createSession({ ...KEY, state: { own: 1, 'app:motto': 'go' } });
  const lease = await first.acquireLease(KEY);
  const call = {
    invocationId: 'e-1',
    entryId: 'call',
    name: 'tool',
    status: 'finished',
    response: { ok: true },
  } as const;
  await first.appendEvent({ session, event: event('one', { 'user:name': 'Ada' }), lease });
  await first.recordToolCall(lease, call);
  const before = await first.getSession(KEY);
  first.close();

  const second = new SqliteSessionService({ path, platform });
  expect(await second.getSession(KEY)).toEqual(before);
  expect(await second.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([call]);
  await expect(second.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
  await second.appendEvent({ session, event: event('two'), lease });
  expect((await second.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one', 'two']);
  second.close();
});

test("two services on one file share leases: one waits until the other's is released or expires", async () => {
  const platform = new ManualPlatform();
  const one = new SqliteSessionService({ path, platform });
  const other = new SqliteSessionService({ path, platform });
  await one.createSession(KEY);
  for (const end of ['release', 'expiry'] as const) {
    const held = await one.acquireLease({ ...KEY, ttlMs: 10_000 });
    await expect(other.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    const waiting = other.acquireLease(KEY);
    if (end === 'release') await one.releaseLease(held);
    await passTime({ platform }, end === 'release' ? 200 : 10_000, waiting);
    const next = await waiting;
    expect(next.epoch).toBeGreaterThan(held.epoch);
    await other.releaseLease(next);
  }
  one.close();
  other.close();
});

test('deleting a session deletes all its rows', async () => {
  const database = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database });
  const before = rowCounts(database);
  const session = await service.createSession({ ...KEY, state: { own: 1 } });
  const ended = await service.beginRun({ ...KEY, invocationId: 'e-0' });
  await service.releaseLease(ended.lease);
  const { lease } = await service.beginRun({ ...KEY, invocationId: 'e-1', requestId: 'r-1' });
  await service.appendEvent({ session, event: event('one', { more: 1 }), lease });
  await service.recordToolCall(lease, { invocationId: 'e-1', entryId: 'call', name: 'tool', status: 'started' });
  await service.putRunWebhook({ ...KEY, id: 'msg', invocationId: 'e-1', url: 'https://hooks.example' });
  const waiting = service.acquireLease(KEY);
  const counts = rowCounts(database);
  const shared = ['eventloom_meta', 'eventloom_app_state', 'eventloom_user_state'];
  expect(Object.keys(counts).filter((table) => counts[table] === before[table])).toEqual(shared);
  await service.deleteSession(KEY);
  await expect(waiting).rejects.toThrow(SessionNotFoundError);
  expect(rowCounts(database)).toEqual(before);
});

test('a missing folder is created, and new folders and files are private to their owner', async () => {
  path = join(folder, 'a', 'b', 'sessions.db');
  const service = new SqliteSessionService({ path });
  await service.createSession(KEY);
  for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const made of [join(folder, 'a'), join(folder, 'a', 'b')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  service.close();
  expect(existsSync(path)).toBe(true);
});

test('a file that is not a database is refused with its path', () => {
  writeFileSync(
    path,
    'this is not a database, but it is long enough to have a header of a hundred bytes, and some more.'.repeat(9),
  );
  for (const bad of [path, folder, join(path, 'below a file'), '/proc/eventloom/sessions.db']) {
    expect(() => new SqliteSessionService({ path: bad })).toThrow(ConfigurationError);
    expect(() => new SqliteSessionService({ path: bad })).toThrow(bad);
  }
  expect(() => new SqliteSessionService({ path: '' })).toThrow('cannot use "" as a session database');
});

test('a file of a newer version is refused and not changed', async () => {
  new SqliteSessionService({ path }).close();
  const database = new DatabaseSync(path);
  database.exec("UPDATE eventloom_meta SET value = 99 WHERE key = 'sessions.schema'");
  expect(() => new SqliteSessionService({ path })).toThrow(/version 99/);
  expect(() => new SqliteSessionService({ database })).toThrow(ConfigurationError);
  expect(database.prepare("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").get()?.['value']).toBe(99);
  database.close();
});

test('an append whose commit fails stores nothing and leaves no gap in the sequence', async () => {
  const database = new DatabaseSync(path);
  const service = new SqliteSessionService({ database });
  const session = await service.createSession(KEY);
  database.exec(`
    CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER refuse AFTER INSERT ON eventloom_events WHEN NEW.event_id = 'refused'
      BEGIN INSERT INTO children VALUES (1); END`);
  const lease = await service.acquireLease(KEY);
  for (const owner of [lease, { ...lease }]) {
    for (const delta of [{ own: 1 }, {}]) {
      await expect(async () =>
        service.appendEvent({ session, event: event('refused', delta), lease: owner }),
      ).rejects.toThrow('FOREIGN');
    }
    await service.appendEvent({ session, event: event(`after ${session.lastSeq}`), lease: owner });
  }
  const stored = await service.getSession(KEY);
  expect(stored?.events.map(({ id }) => id)).toEqual(['after 0', 'after 1']);
  expect(stored?.lastSeq).toBe(2);
  expect({ ...stored?.state }).toEqual({});
  database.close();
});

test('a file that was deleted or replaced while it was open is not writable', () => {
  const service = new SqliteSessionService({ path });
  expect(service.checkWritable()).toBeUndefined();
  rmSync(path);
  const refused = expect.objectContaining({ code: 'STORAGE_UNAVAILABLE', retryable: false }) as Error;
  expect(() => service.checkWritable()).toThrow(refused);
  new SqliteSessionService({ path }).close();
  expect(() => service.checkWritable()).toThrow(refused);
  service.close();
});

test('a given database keeps its other tables and stays open', async () => {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE mine (id INTEGER PRIMARY KEY); INSERT INTO mine VALUES (7); PRAGMA user_version = 5');
  const service = new SqliteSessionService({ database, durability: 'power' });
  await service.createSession(KEY);
  service.close();
  expect(database.prepare('SELECT id FROM mine').get()?.['id']).toBe(7);
  expect(database.prepare('PRAGMA user_version').get()?.['user_version']).toBe(5);
  expect(database.prepare('PRAGMA synchronous').get()?.['synchronous']).toBe(2);
  expect(await new SqliteSessionService({ database }).getSession(KEY)).toBeDefined();
  expect(database.prepare('PRAGMA synchronous').get()?.['synchronous']).toBe(1);
  database.close();
});

test('a service needs either a path or a database', () => {
  expect(() => new SqliteSessionService({})).toThrow(ConfigurationError);
  const database = new DatabaseSync(':memory:');
  expect(() => new SqliteSessionService({ path, database })).toThrow(ConfigurationError);
});

test('a value over 64 MiB is refused and changes nothing; 64 MiB are stored', async () => {
  const limit = 64 * 1024 * 1024;
  const service = new SqliteSessionService({ path: ':memory:' });
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  const fits = 'x'.repeat(limit - 2);
  const content = { role: 'model', parts: [{ text: fits }] };
  const over = createEvent({ id: 'over', author: 'agent', timestamp: 1, content });
  await expect(async () => service.appendEvent({ session, event: over, lease })).rejects.toThrow(SizeLimitError);
  const large = { ...KEY, sessionId: 'large' };
  await expect(service.createSession({ ...large, state: { small: 1, large: fits } })).rejects.toThrow(SizeLimitError);
  expect(await service.getSession(large)).toBeUndefined();
  const response = { text: fits.slice(0, -11) };
  const call = { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'finished', response } as const;
  await service.recordToolCall(lease, call);
  expect((await service.listToolCalls({ ...KEY, invocationId: 'e-1' }))[0]?.response?.['text']).toBe(response.text);
  const larger = { ...call, entryId: 'd', response: { text: `${fits}x` } };
  await expect(async () => service.recordToolCall(lease, larger)).rejects.toThrow(SizeLimitError);
  await service.appendEvent({ session, event: event('one'), lease });
  expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one']);
  service.close();
});

test('session numbers are not reused after millions of sessions', async () => {
  const database = new DatabaseSync(path);
  const service = new SqliteSessionService({ database });
  await service.createSession({ ...KEY, sessionId: 'first' });
  database.exec("UPDATE sqlite_sequence SET seq = 4000000001 WHERE name = 'eventloom_sessions'");
  const sessions = [];
  for (const sessionId of ['one', 'two']) sessions.push(await service.createSession({ ...KEY, sessionId }));
  for (const session of sessions) {
    const lease = await service.acquireLease({ ...KEY, sessionId: session.id });
    for (const id of ['a', 'b', 'c', 'd', 'e']) await service.appendEvent({ session, event: event(id), lease });
    await service.releaseLease(lease);
    await service.appendEvent({ session, event: event('f') });
  }
  for (const session of sessions) {
    const stored = await service.getSession({ ...KEY, sessionId: session.id, config: { numRecentEvents: 4 } });
    expect(stored?.lastSeq).toBe(6);
    expect(stored?.events.map(({ id }) => id)).toEqual(['c', 'd', 'e', 'f']);
  }
  await service.deleteSession({ ...KEY, sessionId: 'one' });
  expect((await service.getSession({ ...KEY, sessionId: 'two' }))?.events.length).toBe(6);
  database.close();
});

test.each([':memory:', undefined])(
  'the sessions of the path %s end with the process only if they are in memory',
  (name) => {
    const service = new SqliteSessionService({ path: name ?? path });
    expect(service.endsWithProcess).toBe(name === ':memory:');
    service.close();
  },
);
