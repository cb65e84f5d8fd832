import { ConfigurationError, createEvent, StaleWriterError } from '@eventloom/core';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const LONG = { appName: 'app', userId: 'ada', sessionId: 'long' };
const VERSION_1 = readFileSync(new URL('./fixtures/version-1.sql', import.meta.url), 'utf8');

function migrated(more = '') {
  const database = new DatabaseSync(':memory:');
  database.exec(VERSION_1 + more);
  return { database, service: new SqliteSessionService({ database, platform: new ManualPlatform() }) };
}

async function idsOf(service: SqliteSessionService, config: { sinceCompaction?: boolean } = {}): Promise<string[]> {
  const session = await service.getSession({ ...LONG, config });
  return session?.events.map(({ id }) => id) ?? [];
}

test('a database of version 1 gets the tables and indexes of a new one', () => {
  const schemaOf = (database: DatabaseSync) =>
    database
      .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name LIKE 'eventloom%' ORDER BY name")
      .all()
      .map((row) => ({ ...row, sql: String(row['sql']).replace('IF NOT EXISTS ', '') }));
  const fresh = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database: fresh });
  const { database } = migrated();
  expect(schemaOf(database)).toEqual(schemaOf(fresh));
  expect(database.prepare("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").get()).toEqual(
    fresh.prepare("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").get(),
  );
  service.close();
});

test('what a database of version 1 has is there after the migration, and it works on', async () => {
  const { service } = migrated();
  const session = await service.getSession(LONG);
  expect(session?.events.map(({ id }) => id)).toEqual([
    'event 1',
    'event 2',
    'event 3',
    'event 4',
    'summary',
    'says "compaction" only',
  ]);
  expect({ ...session?.state }).toEqual({ 'app:motto': 'go', 'user:name': 'Ada', own: 2, more: [true] });
  expect((await service.listToolCalls({ ...LONG, invocationId: 'e-1' })).map(({ status }) => status)).toEqual([
    'finished',
    'started',
  ]);
  expect(await service.findRun({ ...LONG, id: 'e-1' })).toEqual({ invocationId: 'e-1', firstSeq: 1 });
  if (!session) return;
  const event = createEvent({ id: 'after', author: 'agent', timestamp: 7 });
  // That of the program before.
  const old = { ...LONG, epoch: 1, ttlMs: 30_000 };
  await expect(async () => service.appendEvent({ session, event, lease: old })).rejects.toThrow(StaleWriterError);
  const lease = await service.acquireLease({ ...LONG, onBusy: 'reject' });
  expect(lease.epoch).toBe(2);
  await service.appendEvent({ session, event, lease });
  expect((await idsOf(service)).at(-1)).toBe('after');
});

test('events of version 1 whose times go back are found by their times', async () => {
  const insert = (seq: number, timestamp: number, high: number): string =>
    `INSERT INTO eventloom_events VALUES (${2 ** 31 + seq}, 1, 'event ${seq}', ${high}, 1767337449000,
      '{"id":"event ${seq}","author":"agent","timestamp":${timestamp},"actions":{"stateDelta":{},"artifactDelta":{}}}');`;
  const { service } = migrated(insert(7, 20, 20) + insert(8, 8, 20) + insert(9, 21, 21) + insert(10, 2.5, 21));
  const idsFrom = async (afterTimestamp: number, sinceCompaction = false): Promise<string[]> => {
    const session = await service.getSession({ ...LONG, config: { afterTimestamp, sinceCompaction } });
    return session?.events.map(({ id }) => id) ?? [];
  };
  const late = ['event 7', 'event 8', 'event 9'];
  expect(await idsFrom(6)).toEqual(['says "compaction" only', ...late]);
  expect(await idsFrom(8)).toEqual(late);
  expect(await idsFrom(2.5)).toEqual(['event 3', 'event 4', 'summary', 'says "compaction" only', ...late, 'event 10']);
  expect(await idsFrom(2.5, true)).toEqual(['event 4', 'summary', 'says "compaction" only', ...late]);
});

test('sessions of version 1 are listed by their last event', async () => {
  const { service } = migrated();
  const { sessions } = await service.listSessions({ appName: 'app' });
  expect(sessions.map(({ id }) => id)).toEqual(['late', 'long', 'empty 4', 'empty 3', 'empty 2', 'empty 1']);
  const page = await service.listSessions({ appName: 'app', limit: 1 });
  expect(page.sessions.map(({ id }) => id)).toEqual(['late']);
  const next = await service.listSessions({ appName: 'app', limit: 1, cursor: page.nextCursor });
  expect(next.sessions.map(({ id }) => id)).toEqual(['long']);
});

test('compactions of version 1 count, and what only speaks of them does not', async () => {
  const { service } = migrated();
  expect(await idsOf(service, { sinceCompaction: true })).toEqual(['event 4', 'summary', 'says "compaction" only']);
});

test('the initial state of a session of version 1 is not known, and exported as none', async () => {
  const { service } = migrated();
  const { value } = await service.exportSession(LONG).next();
  expect(value).toMatchObject({ type: 'session', initialState: {}, state: { own: 2 } });
});

test('a service that is open when a newer program changes the file refuses whatever is asked of it', async () => {
  const database = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database });
  const session = await service.createSession(LONG);
  database.exec("UPDATE eventloom_meta SET value = 99 WHERE key = 'sessions.schema'");
  const records = [
    {
      type: 'session',
      version: 1,
      appName: 'app',
      userId: 'user',
      id: 'x',
      lastUpdateTime: 1,
      initialState: {},
      state: {},
    },
    { type: 'end', events: 0, toolCalls: 0 },
  ] as const;
  for (const ask of [
    () => service.acquireLease(LONG),
    () => service.acquireLease({ ...LONG, onBusy: 'interrupt' }),
    () => service.acquireLease({ ...LONG, sessionId: 'missing' }),
    () => service.appendEvent({ session, event: createEvent({ id: 'one', author: 'agent', timestamp: 1 }) }),
    () => service.createSession({ ...LONG, sessionId: 'other' }),
    () => service.importSession({ records }),
    () => service.deleteSession(LONG),
    () => service.getSession(LONG),
    () => service.getSession({ ...LONG, sessionId: 'missing' }),
    () => service.listEvents(LONG),
    () => service.exportSession(LONG).next(),
    () => service.listSessions({ appName: 'app' }),
    () => service.listOpenRuns({ appName: 'app' }),
  ]) {
    await expect(async () => ask()).rejects.toThrow(ConfigurationError);
  }
  database.exec("UPDATE eventloom_meta SET value = 7 WHERE key = 'sessions.schema'");
  expect(await service.getSession(LONG)).toEqual(session);
  database.close();
});
