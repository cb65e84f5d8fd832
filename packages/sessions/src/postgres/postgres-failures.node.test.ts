import { ConfigurationError, createEvent, StorageError } from '@eventloom/core';
import { type Proxy, startProxy, useTestDatabase } from '@eventloom/test-postgres';
import { Pool, type PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const TIMEOUT_MS = 1500;

const { url, pool: admin } = useTestDatabase();
let proxy: Proxy;
let pool: Pool;
let service: PostgresSessionService;
beforeEach(async () => {
  // No statement is late, however long it takes, until a test advances the timers.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  proxy = await startProxy(url);
  pool = new Pool({ connectionString: proxy.url, max: 2 });
  const schema = `schema_${crypto.randomUUID().replaceAll('-', '')}`;
  service = new PostgresSessionService({ pool, schema, queryTimeoutMs: TIMEOUT_MS });
  await service.createSession(KEY);
});
afterEach(async () => {
  proxy.resume();
  await pool.end();
  await proxy.close();
  vi.useRealTimers();
});

const eventOf = (id: string) => createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1 });

async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Waits for work that fails only after time-outs, and lets them pass. */
async function thrownLate(work: () => unknown): Promise<unknown> {
  const thrown = thrownBy(work);
  let isSettled = false;
  void thrown.then(() => (isSettled = true));
  await expect.poll(() => vi.advanceTimersByTime(TIMEOUT_MS) && isSettled).toBe(true);
  return thrown;
}

/** Ends every connection of the pool on the server. */
async function terminate(): Promise<void> {
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ''`;
  await admin.query("SET application_name = 'admin'");
  await admin.query(end);
}

test('an unreachable server is a retryable StorageError, and the service works once it is reachable', async () => {
  proxy.stop();
  const error = await thrownBy(() => service.getSession(KEY));
  expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  const nobody = new Pool({ connectionString: 'postgresql://nobody@127.0.0.1:1/none' });
  const refused = await thrownBy(() => new PostgresSessionService({ pool: nobody }).getSession(KEY));
  expect(refused).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true, cause: { code: 'ECONNREFUSED' } });
  expect(refused).toMatchObject({ publicMessage: 'the session database is not available; try again' });
  await nobody.end();
  proxy.resume();
  expect((await service.getSession(KEY))?.id).toBe('session');
});

test('a missing table is a retryable StorageError for every call, and the service works once the table is back', async () => {
  const { rows } = await admin.query<{ schema: string }>(
    "SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'eventloom_meta' AND schemaname LIKE 'schema\\_%'",
  );
  const rename = async (from: string, to: string): Promise<void> => {
    for (const { schema } of rows) await admin.query(`ALTER TABLE ${schema}.${from} RENAME TO ${to}`);
  };
  const lease = await service.acquireLease(KEY);
  const session = (await service.getSession(KEY)) ?? expect.unreachable();
  for (const table of ['eventloom_meta', 'eventloom_sessions']) {
    await rename(table, 'moved');
    const calls = [
      () => service.createSession(KEY),
      () => service.appendEvent({ session, lease, event: eventOf('one') }),
      () => service.renewLease(lease),
    ];
    for (const call of calls)
      expect(await thrownBy(call)).toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
        retryable: true,
        message: expect.stringMatching(/does not exist; restore the tables, or restart this process, which creates/),
        publicMessage: 'the session database is not available; try again',
        cause: { code: '42P01' },
      });
    await rename('moved', table);
  }
  await service.appendEvent({ session, lease, event: eventOf('one') });
  expect((await service.getSession(KEY))?.lastSeq).toBe(1);
});

test('a missing privilege is a StorageError that is not retryable', async () => {
  const role = `role_${crypto.randomUUID().replaceAll('-', '')}`;
  await admin.query(`CREATE ROLE ${role}`);
  const powerless = new Pool({ connectionString: url, options: `-c role=${role}` });
  const error = await thrownBy(() => new PostgresSessionService({ pool: powerless, schema: 'denied' }).getSession(KEY));
  expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: false, cause: { code: '42501' } });
  await powerless.end();
  await admin.query(`DROP ROLE ${role}`);
});

test('checkWritable makes the server write a file, because a row may have room on a full disk', async () => {
  const files = async () => {
    const text = 'SELECT temp_files::int AS files FROM pg_stat_database WHERE datname = current_database()';
    return (await admin.query<{ files: number }>(text)).rows[0]?.files ?? 0;
  };
  const before = await files();
  await service.checkWritable();
  // A connection reports its files when it ends.
  await terminate();
  await expect.poll(files).toBeGreaterThan(before);
});

test('checkWritable succeeds on a server that allows no temporary files', async () => {
  const { rows } = await admin.query<{ name: string }>('SELECT current_database() AS name');
  await admin.query(`ALTER DATABASE ${rows[0]?.name} SET temp_file_limit = 0`);
  await terminate();
  await expect
    .poll(() => thrownBy(() => service.createSession({ ...KEY, sessionId: crypto.randomUUID() })))
    .toBe(undefined);
  try {
    const limit = await pool.query<{ temp_file_limit: string }>('SHOW temp_file_limit');
    expect(limit.rows).toEqual([{ temp_file_limit: '0' }]);
    await service.checkWritable();
  } finally {
    await admin.query(`ALTER DATABASE ${rows[0]?.name} RESET temp_file_limit`);
  }
});

test('connections ended by the server fail only calls that use them, and do not end the process', async () => {
  // Both connections are idle. The pool reports the loss of a taken connection to its owner, before the first
  // statement.
  await Promise.all([service.getSession(KEY), service.getSession(KEY)]);
  await terminate();
  await expect.poll(() => pool.idleCount).toBe(0);
  expect((await service.getSession(KEY))?.id).toBe('session');
  const breaks = (client: PoolClient): void => {
    process.nextTick(() => client.emit('error', new Error('lost')));
  };
  pool.on('acquire', breaks);
  await thrownBy(() => service.deleteSession({ ...KEY, sessionId: 'other' }));
  pool.off('acquire', breaks);
  expect((await service.getSession(KEY))?.id).toBe('session');
});

describe('a server that does not answer', () => {
  test.each([
    ['a statement', () => service.getSession(KEY)],
    ['a transaction', () => service.deleteSession({ ...KEY, sessionId: 'other' })],
  ])('fails %s with a retryable StorageError when the time is over', async (_, work) => {
    await work();
    proxy.freeze();
    const error = await thrownLate(work);
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(String(error)).toContain('1500 ms');
    // A connection that did not answer is not used again.
    proxy.resume();
    expect((await service.getSession(KEY))?.id).toBe('session');
  });

  test('releases connections that arrive after their caller gave up', async () => {
    await terminate();
    await expect.poll(() => pool.totalCount).toBe(0);
    proxy.freeze();
    const late = [1, 2, 3].map(() => thrownLate(() => service.deleteSession({ ...KEY, sessionId: 'other' })));
    for (const error of await Promise.all(late)) expect(StorageError.isInstance(error)).toBe(true);
    proxy.resume();
    await expect.poll(async () => (await service.getSession(KEY))?.id).toBe('session');
    await expect.poll(() => pool.waitingCount + pool.totalCount - pool.idleCount).toBe(0);
  });

  test('does not delay the first caller beyond the time-out', async () => {
    const other = new PostgresSessionService({ pool, schema: 'late', queryTimeoutMs: TIMEOUT_MS });
    proxy.freeze();
    expect(StorageError.isInstance(await thrownLate(() => other.getSession(KEY)))).toBe(true);
    proxy.resume();
    await expect.poll(() => thrownBy(() => other.getSession(KEY))).toBe(undefined);
  });
});

test('an append whose answer was lost is stored once when it is repeated', async () => {
  const session = await service.getOrCreateSession(KEY);
  const lease = await service.acquireLease(KEY);
  const event = createEvent({ ...eventOf('one'), actions: { stateDelta: { own: 1, 'temp:note': 2 } } });
  const lost = proxy.loseAnswerTo('"one"');
  const error = await thrownBy(() => service.appendEvent({ session, event, lease }));
  await lost;
  expect(StorageError.isInstance(error)).toBe(true);
  expect((await service.appendEvent({ session, event, lease })).id).toBe('one');
  expect({ ...session.state }).toEqual({ own: 1, 'temp:note': 2 });
  await service.appendEvent({ session, event: eventOf('two'), lease });
  expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one', 'two']);
  expect(session.events.map(({ id }) => id)).toEqual(['one', 'two']);
});

test.each([0, -1, Number.NaN, Infinity])('queryTimeoutMs of %d is refused', (queryTimeoutMs) => {
  expect(() => new PostgresSessionService({ pool, queryTimeoutMs })).toThrow(ConfigurationError);
});
