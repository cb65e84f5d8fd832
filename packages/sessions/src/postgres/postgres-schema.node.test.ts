import { ConfigurationError, createEvent, type SessionRecord } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Client, Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EPOCH_CYCLE, type PostgresPool } from '@eventloom/core/internal';
import { PostgresSessionService } from './postgres-session-service.ts';
import { migrateSessions } from './postgres-database.ts';
import { MIGRATIONS } from './schema.ts';
import { tablesOf } from './tables.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

let database: TestDatabase;
let pool: Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function recordsOf(service: PostgresSessionService): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const record of service.exportSession(KEY)) records.push(record);
  return records;
}

const rowsOf = async (statement: string): Promise<unknown[]> => (await pool.query(statement)).rows;
const tables = `SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE 'eventloom%' ORDER BY 1, 2`;

test("the first call creates the tables, prefixed eventloom_, in the connection's first schema", async () => {
  await pool.query('CREATE TABLE notes (id integer)');
  await new PostgresSessionService({ pool }).createSession(KEY);
  expect(await rowsOf(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)).toEqual(
    [
      'events',
      'initial_state',
      'lease_tickets',
      'meta',
      'run_webhooks',
      'session_runs',
      'sessions',
      'state',
      'tool_calls',
    ]
      .map((name) => ({ tablename: `eventloom_${name}` }))
      .concat({ tablename: 'notes' }),
  );
});

test('several services can start concurrently on an empty database', async () => {
  const pools = Array.from({ length: 8 }, () => new Pool({ connectionString: database.url }));
  const schema = 'sessions';
  const created = pools.map((own, index) =>
    new PostgresSessionService({ pool: own, schema }).createSession({ ...KEY, sessionId: `session ${index}` }),
  );
  await Promise.all(created);
  const { sessions } = await new PostgresSessionService({ pool, schema }).listSessions({ appName: 'app' });
  expect(sessions.length).toBe(8);
  await Promise.all(pools.map((own) => own.end()));
});

test('tables of a newer version are refused and not changed', async () => {
  const service = new PostgresSessionService({ pool });
  await service.createSession(KEY);
  await service.migrate();
  await pool.query(`UPDATE eventloom_meta SET value = 99 WHERE key = 'sessions.schema'`);
  const newer = new PostgresSessionService({ pool });
  for (const attempt of [newer.migrate(), newer.getSession(KEY)]) {
    await expect(attempt).rejects.toThrow(ConfigurationError);
    await expect(attempt).rejects.toThrow(/version 99.*up to 1\b/);
  }
  expect(await rowsOf('SELECT key, value::integer FROM eventloom_meta')).toEqual([
    { key: 'sessions.schema', value: 99 },
  ]);
  expect(await rowsOf('SELECT session_id FROM eventloom_sessions')).toEqual([{ session_id: 'session' }]);
  await pool.query(`UPDATE eventloom_meta SET value = ${MIGRATIONS.length} WHERE key = 'sessions.schema'`);
  expect((await newer.getSession(KEY))?.id).toBe('session');
});

test('a running program stops writing after a newer one migrated the tables, and its error says why', async () => {
  const service = new PostgresSessionService({ pool });
  const session = await service.createSession({ ...KEY, state: { 'user:name': 'Ada' } });
  const lease = await service.acquireLease(KEY);
  const records = await recordsOf(service);
  const contents = async (): Promise<unknown[]> =>
    Promise.all(['sessions', 'events', 'state', 'tool_calls'].map((name) => rowsOf(`SELECT * FROM eventloom_${name}`)));
  const before = await contents();
  await pool.query(`UPDATE eventloom_meta SET value = 99 WHERE key = 'sessions.schema'`);
  const event = createEvent({ invocationId: 'e-1', author: 'agent', actions: { stateDelta: { 'user:name': 'Eva' } } });
  const call = { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'started' } as const;
  const other = { ...KEY, sessionId: 'other' };
  const attempts: (() => unknown)[] = [
    () => service.acquireLease({ ...KEY, onBusy: 'interrupt' }),
    () => service.acquireLease(other),
    () => service.beginRun({ ...KEY, invocationId: 'e-1', message: event, onBusy: 'interrupt' }),
    () => service.beginRun({ ...other, invocationId: 'e-1', message: event, create: true }),
    () => service.appendEvent({ session, event, lease }),
    () => service.appendEvent({ session, event }),
    () => service.recordToolCall(lease, call),
    () => service.renewLease(lease),
    () => service.createSession(other),
    () => service.importSession({ records, sessionId: 'imported' }),
    () => service.deleteSession(KEY),
  ];
  for (const attempt of attempts) await expect(attempt()).rejects.toThrow(ConfigurationError);
  expect(await contents()).toEqual(before);
  await pool.query('ALTER TABLE eventloom_sessions RENAME TO eventloom_sessions_next');
  await expect(async () => service.getSession(KEY)).rejects.toThrow(/version 99/);
});

test('a new migration step runs once and keeps the stored data', async () => {
  const service = new PostgresSessionService({ pool });
  const session = await service.createSession({ ...KEY, state: { own: 1 } });
  await service.appendEvent({ session, event: createEvent({ id: 'one', invocationId: 'e-1', author: 'agent' }) });
  const tables = tablesOf(undefined);
  const steps = [...MIGRATIONS, () => ['ALTER TABLE eventloom_sessions ADD COLUMN color text']];
  for (let start = 0; start < 2; start++) {
    const client = await pool.connect();
    await migrateSessions(client, tables, undefined, steps);
    client.release();
  }
  expect(await rowsOf('SELECT value::integer FROM eventloom_meta')).toEqual([{ value: steps.length }]);
  expect(await rowsOf('SELECT color FROM eventloom_sessions')).toEqual([{ color: null }]);
  await expect(new PostgresSessionService({ pool }).getSession(KEY)).rejects.toThrow(ConfigurationError);
  // Simulates that the step belongs to this program.
  await pool.query(`UPDATE eventloom_meta SET value = ${MIGRATIONS.length} WHERE key = 'sessions.schema'`);
  const found = await new PostgresSessionService({ pool }).getSession(KEY);
  expect(found?.events.map(({ id }) => id)).toEqual(['one']);
  expect({ ...found?.state }).toEqual({ own: 1 });
});

test('a failed migration is rolled back and retried by the next call', async () => {
  await pool.query('CREATE TABLE eventloom_tool_calls (id integer)');
  const service = new PostgresSessionService({ pool });
  await expect(service.createSession(KEY)).rejects.toThrow(/already exists/);
  expect(await rowsOf(tables)).toEqual([{ schemaname: 'public', tablename: 'eventloom_tool_calls' }]);
  await pool.query('DROP TABLE eventloom_tool_calls');
  expect((await service.createSession(KEY)).id).toBe('session');
});

test('services with different schemas share only the pool', async () => {
  const schemas = ['plain', 'Two Words', `it's "quoted"`, `back\\slash`, `\\'); --`, 'schéma', undefined];
  const services = schemas.map((schema) => new PostgresSessionService({ pool, schema }));
  for (const service of services) {
    const session = await service.createSession({ ...KEY, state: { 'app:motto': 'go' } });
    const lease = await service.acquireLease(KEY);
    const event = createEvent({ id: 'one', invocationId: 'e-1', author: 'agent', timestamp: 1 });
    await service.appendEvent({ session, event, lease });
  }
  for (const service of services) expect((await service.listSessions({ appName: 'app' })).sessions.length).toBe(1);
  await services[0]?.deleteSession(KEY);
  for (const service of services.slice(1)) expect((await service.getSession(KEY))?.lastSeq).toBe(1);
});

test('a schema name is quoted correctly without standard_conforming_strings', async () => {
  const own = new Pool({ connectionString: database.url, options: '-c standard_conforming_strings=off' });
  for (const schema of [`back\\slash`, `\\'; DROP TABLE notes; --`]) {
    const service = new PostgresSessionService({ pool: own, schema });
    await service.createSession(KEY);
    expect((await service.acquireLease(KEY)).epoch).toBe(EPOCH_CYCLE + 1);
  }
  await own.end();
});

test.each(['', 'x'.repeat(64), 'é'.repeat(32), 'with\0nul', '\ud800', 'pg_mine', 'pg_temp'])(
  'the schema name %j is refused',
  (schema) => {
    expect(() => new PostgresSessionService({ pool, schema })).toThrow(ConfigurationError);
  },
);

test('a user without CREATE privilege can use existing tables', async () => {
  await new PostgresSessionService({ pool, schema: 'sessions' }).migrate();
  const user = `reader_${crypto.randomUUID().replaceAll('-', '')}`;
  await pool.query(`CREATE ROLE ${user} LOGIN`);
  await pool.query(`GRANT USAGE ON SCHEMA sessions TO ${user}`);
  await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sessions TO ${user}`);
  await pool.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA sessions TO ${user}`);
  const url = new URL(database.url);
  url.username = user;
  const own = new Pool({ connectionString: url.href });
  const service = new PostgresSessionService({ pool: own, schema: 'sessions' });
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  await service.appendEvent({ session, event: createEvent({ invocationId: 'e-1', author: 'agent' }), lease });
  await service.deleteSession(KEY);
  await expect(new PostgresSessionService({ pool: own, schema: 'more' }).migrate()).rejects.toThrow(
    /permission denied/,
  );
  await own.end();
  await pool.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
});

test('without prepared statements calls do not depend on the connection', async () => {
  const reset: PostgresPool = {
    query: async (query) => {
      const client = await pool.connect();
      try {
        return await client.query(query);
      } finally {
        await client.query('DISCARD ALL');
        client.release();
      }
    },
    connect: async () => {
      const client = await pool.connect();
      await client.query('DISCARD ALL');
      return client;
    },
  };
  const service = new PostgresSessionService({ pool: reset, schema: 'pooled', preparedStatements: false });
  const session = await service.createSession({ ...KEY, state: { own: 1, 'user:name': 'Ada' } });
  const { lease } = await service.beginRun({ ...KEY, invocationId: 'e-1', resumable: true });
  const actions = { stateDelta: { own: 2 }, removedState: ['user:name'] };
  await service.appendEvent({ session, event: createEvent({ invocationId: 'e-1', author: 'agent', actions }), lease });
  await service.recordToolCall(lease, { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'started' });
  expect((await service.listOpenRuns({ appName: 'app' })).runs.length).toBe(1);
  await service.releaseLease(lease);
  const records = await recordsOf(service);
  await service.importSession({ records, sessionId: 'copy' });
  await service.deleteSession(KEY);
  const { sessions } = await service.listSessions({ appName: 'app' });
  expect(sessions.map(({ id, state }) => [id, { ...state }])).toEqual([['copy', { own: 2 }]]);
});

test('prepared statements have their own names', async () => {
  for (const preparedStatements of [true, false]) {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const only = Object.assign(client, { release: () => undefined });
    const single = { query: only.query.bind(only), connect: async () => only };
    const service = new PostgresSessionService({ pool: single, preparedStatements });
    const key = { ...KEY, sessionId: String(preparedStatements) };
    const session = await service.createSession(key);
    for (const id of ['one', 'two']) {
      await service.appendEvent({ session, event: createEvent({ id, invocationId: 'e-1', author: 'agent' }) });
    }
    expect((await service.getSession(key))?.lastSeq).toBe(2);
    const { rows } = await client.query<{ name: string }>('SELECT name FROM pg_prepared_statements');
    expect(rows.length).toBe(preparedStatements ? 3 : 0);
    for (const { name } of rows) expect(name).toMatch(/^eventloom_[0-9a-f]{16}$/);
    await client.end();
  }
});
