import { ConfigurationError, createEvent } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Client, Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

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

const rowsOf = async (statement: string): Promise<unknown[]> => (await pool.query(statement)).rows;
const tables = `SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE 'eventloom%' ORDER BY 1, 2`;

test('the tables are made by the first call, in the first schema of the connection, and their names begin with eventloom_', async () => {
  await pool.query('CREATE TABLE notes (id integer)');
  await new PostgresSessionService({ pool }).createSession(KEY);
  expect(await rowsOf(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)).toEqual(
    ['events', 'initial_state', 'meta', 'sessions', 'state', 'tool_calls']
      .map((name) => ({ tablename: `eventloom_${name}` }))
      .concat({ tablename: 'notes' }),
  );
});

test('many services that begin at once on an empty database all work', async () => {
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

test('tables of a newer version are refused by both versions, and left as they are', async () => {
  const service = new PostgresSessionService({ pool });
  await service.createSession(KEY);
  await service.migrate();
  await pool.query(`UPDATE eventloom_meta SET value = 99 WHERE key = 'sessions.schema'`);
  const newer = new PostgresSessionService({ pool });
  for (const attempt of [newer.migrate(), newer.getSession(KEY)]) {
    await expect(attempt).rejects.toThrow(ConfigurationError);
    await expect(attempt).rejects.toThrow(/version 99.*up to 2\b/);
  }
  expect(await rowsOf('SELECT key, value::integer FROM eventloom_meta')).toEqual([
    { key: 'sessions.schema', value: 99 },
  ]);
  expect(await rowsOf('SELECT session_id FROM eventloom_sessions')).toEqual([{ session_id: 'session' }]);
  await pool.query(`UPDATE eventloom_meta SET value = 2 WHERE key = 'sessions.schema'`);
  expect((await newer.getSession(KEY))?.id).toBe('session');
});

test('a migration that fails leaves nothing behind, and is tried again by the next call', async () => {
  await pool.query('CREATE TABLE eventloom_tool_calls (id integer)');
  const service = new PostgresSessionService({ pool });
  await expect(service.createSession(KEY)).rejects.toThrow(/already exists/);
  expect(await rowsOf(tables)).toEqual([{ schemaname: 'public', tablename: 'eventloom_tool_calls' }]);
  await pool.query('DROP TABLE eventloom_tool_calls');
  expect((await service.createSession(KEY)).id).toBe('session');
});

test('services with schemas of their own share a pool and nothing else, whatever the schemas are called', async () => {
  const schemas = ['plain', 'Two Words', `it's "quoted"`, 'schéma', undefined];
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

test.each(['', 'x'.repeat(64), 'é'.repeat(32), 'with\0nul', '\ud800'])(
  '%j is refused as the name of a schema',
  (schema) => {
    expect(() => new PostgresSessionService({ pool, schema })).toThrow(ConfigurationError);
  },
);

test('a user who may not make tables can use those that are there', async () => {
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

test('statements are prepared by names of their own, or not at all', async () => {
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
