import { ConfigurationError } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openPostgres } from './open-postgres.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

describe('sessions in PostgreSQL', () => {
  let database: TestDatabase;
  let administrator: Client;
  let warnings: string[];
  const warn = (line: string): void => void warnings.push(line);
  beforeEach(async () => {
    warnings = [];
    database = await createTestDatabase();
    administrator = new Client({ connectionString: database.url });
    await administrator.connect();
  });
  afterEach(async () => {
    await administrator.end();
    await database.drop();
  });

  const connections = async (): Promise<number> => {
    const { rows } = await administrator.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'eventloom'`,
    );
    return rows.length;
  };

  test('persist after they are closed, which leaves no connection open', async () => {
    const first = await openPostgres(database.url, warn);
    await first.service.createSession(KEY);
    await first.close();
    while ((await connections()) > 0);
    const second = await openPostgres(database.url, warn);
    expect((await second.service.getSession(KEY))?.id).toBe('session');
    await second.close();
    expect(warnings).toEqual([]);
  });

  test('report an idle connection that is lost and continue with another', async () => {
    const open = await openPostgres(database.url, warn);
    await open.service.createSession(KEY);
    const lost = new Promise<void>((resolve) => {
      warnings.push = (...lines) => {
        resolve();
        return Array.prototype.push.apply(warnings, lines);
      };
    });
    await administrator.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'eventloom'`,
    );
    await lost;
    expect(warnings[0]).toMatch(
      /^postgresql:\/\/eventloom@127\.0\.0\.1:\d+\/test_\w+: an idle connection was lost: \w+/,
    );
    expect((await open.service.getSession(KEY))?.id).toBe('session');
    await open.close();
  });

  test('of a newer version are refused', async () => {
    await (await openPostgres(database.url, warn)).close();
    await administrator.query('UPDATE eventloom_meta SET value = 99');
    const attempt = openPostgres(database.url, warn);
    await expect(attempt).rejects.toThrow(ConfigurationError);
    await expect(attempt).rejects.toThrow(/cannot keep sessions in .*version 99/);
  });

  test.each([
    ['postgres://ada:secret@127.0.0.1:1/agents', /ECONNREFUSED 127\.0\.0\.1:1/],
    ['postgres://ada:secret@localhost:1/agents?options=secret', /ECONNREFUSED/],
    ['postgres://ada:secret@host.invalid/agents', /host\.invalid/],
  ])('in a place that cannot be reached, %s, are refused without its password', async (url, reason) => {
    const error = await openPostgres(url, warn).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(ConfigurationError.isInstance(error)).toBe(true);
    expect(String(error)).toMatch(/cannot keep sessions in postgres:\/\/ada@/);
    expect(String(error)).toMatch(reason);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret');
  });
});
