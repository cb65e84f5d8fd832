import { createEvent, type Event, type EventActions, type Session } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Client, Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PostgresPool } from '@eventloom/core/internal';
import { untilWaiting } from './fixtures/until-waiting.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

const USER = { appName: 'app', userId: 'user' };

let database: TestDatabase;
let pool: Pool;
/** Number of statements that were sent through the pool itself. */
let sent: number;
let service: PostgresSessionService;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url, max: 20, options: '-c deadlock_timeout=20ms' });
  sent = 0;
  const counted: PostgresPool = {
    query: (query) => {
      sent += 1;
      return pool.query(query);
    },
    connect: () => pool.connect(),
  };
  service = new PostgresSessionService({ pool: counted });
  await service.migrate();
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

let events = 0;
const eventOf = (actions: Partial<EventActions>): Event =>
  createEvent({ id: `event ${events++}`, invocationId: 'e-1', author: 'agent', timestamp: 1, actions });

/** Returns the number of deadlocks in the database. A connection reports them before it ends. */
async function deadlocks(): Promise<number> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const others = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND backend_type = 'client backend'`;
    while ((await client.query(others)).rows.length > 0);
    const statistics = 'SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()';
    const [row] = (await client.query<{ deadlocks: number }>(statistics)).rows;
    return row?.deadlocks ?? -1;
  } finally {
    await client.end();
  }
}

const BOTH = { 'user:a': 0, 'user:b': 0 };

test.each<[string, Record<string, number>, Partial<EventActions>]>([
  ['sets keys', BOTH, { stateDelta: { 'user:b': 1, 'user:a': 1 } }],
  ['sets keys that are not there', {}, { stateDelta: { 'user:b': 1, 'user:a': 1 } }],
  ['removes keys', BOTH, { removedState: ['user:b', 'user:a'] }],
  ['sets a key and removes the one before it', BOTH, { stateDelta: { 'user:b': 1 }, removedState: ['user:a'] }],
])('an append that %s locks the keys in order', async (_, state, actions) => {
  const mine = await service.createSession({ ...USER, sessionId: 'mine', state });
  const client = new Client({ connectionString: database.url, options: '-c deadlock_timeout=1h' });
  await client.connect();
  const single = Object.assign(client, { release: () => undefined });
  const other = new PostgresSessionService({
    pool: { query: (query) => single.query(query), connect: async () => single },
  });
  const theirs = await other.createSession({ ...USER, sessionId: 'theirs' });
  await client.query('BEGIN');
  await other.appendEvent({ session: theirs, event: eventOf({ stateDelta: { 'user:a': 2 } }) });
  sent = 0;
  const append = service.appendEvent({ session: mine, event: eventOf(actions) });
  await untilWaiting(pool);
  await other.appendEvent({ session: theirs, event: eventOf({ stateDelta: { 'user:b': 2 } }) });
  await client.query('COMMIT');
  await append;
  expect(sent).toBe(1);
  const stored = await service.getSession({ ...USER, sessionId: 'mine' });
  expect({ ...stored?.state }).toEqual(actions.stateDelta ?? {});
  await client.end();
});

test('concurrent sets and removals of the same keys all commit, and the last write wins', async () => {
  const keys = ['app:x', 'app:y', 'user:a', 'user:b', 'user:c', 'user:d', 'user:e', 'user:f'];
  const rounds = 40;
  const sessions = await Promise.all(
    Array.from({ length: 12 }, (_, index) => service.createSession({ ...USER, sessionId: `session ${index}` })),
  );
  const written: Record<string, number>[] = [];
  /** Every key is set or removed, in a different order for each append. Every third session appends by the start of a run. */
  const append = async (session: Session, index: number, round: number): Promise<void> => {
    const number = index * rounds + round;
    const start = (index * 3 + round * 5) % keys.length;
    const turned = [...keys.slice(start), ...keys.slice(0, start)];
    if (index % 2 === 1) turned.reverse();
    const stateDelta = Object.fromEntries(turned.slice(0, 4).map((key) => [key, number]));
    written[number] = stateDelta;
    const event = eventOf({ stateDelta, removedState: turned.slice(4) });
    if (index % 3 > 0) return void (await service.appendEvent({ session, event }));
    const run = { ...USER, sessionId: session.id, invocationId: 'e-1', read: { numRecentEvents: 0 } };
    const begun = await service.beginRun({ ...run, message: event });
    await service.endRun(begun.lease, { session: begun.session });
  };
  sent = 0;
  await Promise.all(
    sessions.map(async (session, index) => {
      for (let round = 0; round < rounds; round++) await append(session, index, round);
    }),
  );
  // The start of a run is one statement, like an append, and its end is another one.
  expect(sent).toBe((12 + 4) * rounds);
  const stored = await service.getSession({ ...USER, sessionId: 'session 0' });
  const [number] = Object.values(stored?.state ?? {}) as number[];
  expect({ ...stored?.state }).toEqual(written[number ?? -1]);
  // Later removals sweep the rows of earlier ones.
  const removed = await pool.query('SELECT FROM eventloom_state WHERE removed');
  expect(removed.rows.length).toBeLessThanOrEqual(keys.length);
  await pool.end();
  expect(await deadlocks()).toBe(0);
  pool = new Pool({ connectionString: database.url });
});

test('repeated rollbacks end in a retryable StorageError', async () => {
  const session = await service.createSession({ ...USER, sessionId: 'session' });
  await pool.query(`
    CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'undone' USING ERRCODE = '40P01'; END $$`);
  await pool.query('CREATE TRIGGER undo BEFORE INSERT ON eventloom_events FOR EACH ROW EXECUTE FUNCTION undo()');
  sent = 0;
  const append = service.appendEvent({ session, event: eventOf({}) });
  await expect(append).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  expect(sent).toBe(10);
  await pool.query('DROP TRIGGER undo ON eventloom_events');
  await service.appendEvent({ session, event: eventOf({}) });
  expect(session.lastSeq).toBe(1);
});
