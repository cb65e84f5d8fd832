import { ConfigurationError, createEvent, StaleWriterError } from '@eventloom/core';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { MIGRATIONS, migrateSessions } from '../sql/schema.ts';
import { SqliteConnection, SqliteSessionService } from './sqlite-session-service.ts';

const KEY = { appName: 'app', userId: 'ada', sessionId: 'session' };
const event = (id: string) => createEvent({ id, author: 'agent', timestamp: 1 });

test('a new migration step runs once, keeps the stored data, and ends the leases of the previous version', async () => {
  const database = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database });
  const session = await service.createSession({ ...KEY, state: { own: 1 } });
  const lease = await service.acquireLease(KEY);
  await service.appendEvent({ session, event: event('one'), lease });
  const connection = new SqliteConnection(database);
  const steps = [...MIGRATIONS, 'ALTER TABLE eventloom_sessions ADD COLUMN color TEXT'];
  migrateSessions(connection, steps);
  migrateSessions(connection, steps);
  expect(database.prepare("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").get()?.['value']).toBe(
    steps.length,
  );
  expect(database.prepare('SELECT color FROM eventloom_sessions').all().length).toBe(1);
  expect(() => migrateSessions(connection)).toThrow(ConfigurationError);
  // Simulates that the step belongs to this program.
  database.exec(`UPDATE eventloom_meta SET value = ${MIGRATIONS.length} WHERE key = 'sessions.schema'`);
  await expect(async () => service.appendEvent({ session, event: event('two'), lease })).rejects.toThrow(
    StaleWriterError,
  );
  expect((await service.acquireLease({ ...KEY, onBusy: 'reject' })).epoch).toBe(lease.epoch + 1);
  const found = await service.getSession(KEY);
  expect(found?.events.map(({ id }) => id)).toEqual(['one']);
  expect({ ...found?.state }).toEqual({ own: 1 });
  database.close();
});

test('an open service rejects every call with a ConfigurationError after a newer program migrated the file', async () => {
  const database = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database });
  const session = await service.createSession(KEY);
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
    () => service.acquireLease(KEY),
    () => service.acquireLease({ ...KEY, onBusy: 'interrupt' }),
    () => service.acquireLease({ ...KEY, sessionId: 'missing' }),
    () => service.appendEvent({ session, event: event('one') }),
    () => service.createSession({ ...KEY, sessionId: 'other' }),
    () => service.importSession({ records }),
    () => service.deleteSession(KEY),
    () => service.getSession(KEY),
    () => service.getSession({ ...KEY, sessionId: 'missing' }),
    () => service.listEvents(KEY),
    () => service.exportSession(KEY).next(),
    () => service.listSessions({ appName: 'app' }),
    () => service.listOpenRuns({ appName: 'app' }),
  ]) {
    await expect(async () => ask()).rejects.toThrow(ConfigurationError);
  }
  database.exec(`UPDATE eventloom_meta SET value = ${MIGRATIONS.length} WHERE key = 'sessions.schema'`);
  expect(await service.getSession(KEY)).toEqual(session);
  database.close();
});
