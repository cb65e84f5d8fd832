import { createEvent } from '@eventloom/core';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const LONG = { appName: 'app', userId: 'ada', sessionId: 'long' };
const VERSION_1 = readFileSync(new URL('./fixtures/version-1.sql', import.meta.url), 'utf8');

function migrated() {
  const database = new DatabaseSync(':memory:');
  database.exec(VERSION_1);
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
  if (!session) return;
  // The lease of the program before.
  const lease = { ...LONG, epoch: 1, ttlMs: 30_000 };
  await service.appendEvent({ session, event: createEvent({ id: 'after', author: 'agent', timestamp: 7 }), lease });
  expect((await idsOf(service)).at(-1)).toBe('after');
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
