import { createEvent, type Event, type EventActions } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Gate } from '@eventloom/testing';
import { Client, Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PostgresDatabase } from './postgres-database.ts';
import type { PostgresClient, PostgresPool } from '@eventloom/core/internal';
import { PostgresSessionDriver } from './postgres-session-driver.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

const USER = { appName: 'app', userId: 'user' };

let database: TestDatabase;
let pool: Pool;
let service: PostgresSessionService;
beforeEach(async () => {
  database = await createTestDatabase();
  // A statement that waits for a lock fails after 2 s, well before the end of the test.
  pool = new Pool({ connectionString: database.url, options: '-c lock_timeout=2s' });
  service = new PostgresSessionService({ pool });
  await service.migrate();
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const eventOf = (id: string, actions: Partial<EventActions> = {}): Event =>
  createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, actions });

/** The pool, with transactions that stop at the gate before they insert into a table. */
function pausedAt(table: string, gate: Gate): PostgresPool {
  return {
    query: (query) => pool.query(query),
    async connect() {
      const client = await pool.connect();
      const paused: PostgresClient = {
        on: (event, listener) => client.on(event, listener),
        release: (destroy) => client.release(destroy),
        async query(query) {
          if (query.text.includes(`INSERT INTO ${table} `)) await gate.pass();
          return client.query(query);
        },
      };
      return paused;
    },
  };
}

test.each([
  ['that is there', { 'app:motto': 'old', 'user:name': 'old' }],
  ['that it brings', {}],
])('an import that is writing its events does not lock a shared key %s', async (_, state) => {
  const session = await service.createSession({ ...USER, sessionId: 'other', state });
  const gate = new Gate();
  const own = pausedAt('eventloom_events', gate);
  const driver = new PostgresSessionDriver(new PostgresDatabase(own));
  const imported = driver.importSession({
    ...USER,
    sessionId: 'imported',
    updatedAtMs: 1,
    initialState: [],
    state: [{ scope: 'session', key: 'own', value: 1 }],
    sharedState: [
      { scope: 'user', key: 'name', value: 'imported' },
      { scope: 'app', key: 'motto', value: 'imported' },
    ],
    events: [eventOf('one')],
    toolCalls: [],
    runs: [],
  });
  await gate.reached;
  const stateDelta = { 'app:motto': 'new', 'user:name': 'new' };
  try {
    await service.appendEvent({ session, event: eventOf('two', { stateDelta }) });
  } finally {
    gate.open();
  }
  expect((await imported)?.state).toHaveLength(3);
  const stored = await service.getSession({ ...USER, sessionId: 'imported' });
  expect({ ...stored?.state }).toEqual({ own: 1, ...stateDelta });
});

test('removing a shared key does not wait for removed keys locked by another transaction', async () => {
  const state = { 'user:a': 1, 'user:b': 1, 'user:c': 1 };
  const session = await service.createSession({ ...USER, sessionId: 'session', state });
  const remove = async (id: string, key: string): Promise<unknown> =>
    service.appendEvent({ session, event: eventOf(id, { removedState: [key] }) });
  const removed = async (): Promise<unknown[]> =>
    (await pool.query<{ key: string }>('SELECT key FROM eventloom_state WHERE removed ORDER BY key')).rows.map(
      ({ key }) => key,
    );
  await remove('one', 'user:a');
  expect(await removed()).toEqual(['a']);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`SELECT FROM eventloom_state WHERE key = 'a' FOR UPDATE`);
  await remove('two', 'user:b');
  expect(await removed()).toEqual(['a', 'b']);
  await client.query('COMMIT');
  await client.end();
  await remove('three', 'user:c');
  expect(await removed()).toEqual(['c']);
});
