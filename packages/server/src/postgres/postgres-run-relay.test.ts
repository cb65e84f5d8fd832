import { ConfigurationError, systemPlatform } from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import type { RelayHost } from '../runs/run-relay.ts';
import type { PostgresPool } from '@eventloom/core/internal';
import { PostgresRunRelay, type PostgresRunRelayOptions } from './postgres-run-relay.ts';

const { url, pool } = useTestDatabase();
beforeAll(async () => {
  pool.on('error', () => undefined);
});
const HOST: RelayHost = {
  platform: systemPlatform,
  keepRunsMs: 1000,
  report: () => undefined,
  stop: () => undefined,
};
const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

/** Opens a relay that is attached to a host, and is closed after the test. */
function openRelay(options: Partial<PostgresRunRelayOptions> = {}): PostgresRunRelay & AsyncDisposable {
  const relay = new PostgresRunRelay({ pool, ...options });
  relay.attach(HOST);
  return Object.assign(relay, { [Symbol.asyncDispose]: () => relay.close() });
}

describe('the tables', () => {
  test('are created once by concurrent starts', async () => {
    const relays = Array.from({ length: 6 }, () => openRelay());
    const found = await Promise.all(relays.map((relay) => relay.find(KEY, 'e-1')));
    expect(new Set(found)).toEqual(new Set([undefined]));
    for (const relay of relays) await relay.close();
  });

  test('are created on a connection that is returned unchanged', async () => {
    const left: number[] = [];
    const watching: PostgresPool = {
      query: (query) => pool.query(query),
      async connect() {
        const client = await pool.connect();
        const before = client.listenerCount('error');
        const release = client.release.bind(client);
        client.release = (destroy) => {
          left.push(client.listenerCount('error') - before);
          release(destroy);
        };
        return client;
      },
    };
    await using relay = openRelay({ pool: watching, schema: 'watched' });
    await relay.find(KEY, 'e-1');
    expect(left[0]).toBe(0);
  });

  test('are in the named schema', async () => {
    await using relay = openRelay({ schema: 'a "schema"' });
    await relay.find(KEY, 'e-1');
    const { rows } = await pool.query(`SELECT to_regclass('"a ""schema""".eventloom_relay_runs') IS NOT NULL AS found`);
    expect(rows).toEqual([{ found: true }]);
  });

  test('of a newer version are refused', async () => {
    await using relay = openRelay({ schema: 'newer' });
    await relay.find(KEY, 'e-1');
    await pool.query(`UPDATE newer.eventloom_meta SET value = 99 WHERE key = 'relay.schema'`);
    await using other = openRelay({ schema: 'newer' });
    await expect(other.find(KEY, 'e-1')).rejects.toThrow(/update @eventloom\/server/);
  });
});

describe('options', () => {
  test.each([
    ['an option that does not exist', { lease: 1 }],
    ['a lease of nothing', { leaseMs: 0 }],
    ['an infinite bound', { maxKeptChars: Number.POSITIVE_INFINITY }],
    ['a schema without a name', { schema: '' }],
  ])('are refused with %s', (_what, options) => {
    expect(() => new PostgresRunRelay({ pool, ...options })).toThrow(ConfigurationError);
  });
});

test('a pool of one connection, which the relay would keep, is refused', () => {
  const single = new Pool({ connectionString: url, max: 1 });
  expect(() => new PostgresRunRelay({ pool: single })).toThrow('PostgresRunRelay: pool: has at most 1 connection');
});

test('a relay must be attached to exactly one server before use', async () => {
  const relay = new PostgresRunRelay({ pool });
  await expect(relay.find(KEY, 'e-1')).rejects.toThrow(ConfigurationError);
  relay.attach(HOST);
  expect(() => relay.attach(HOST)).toThrow(ConfigurationError);
  await relay.close();
});
