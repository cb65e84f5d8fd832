import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { createTestDatabase, startProxy } from '@eventloom/test-postgres';
import { fixedPlatform } from '@eventloom/testing';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { PostgresRunRelay } from './postgres-run-relay.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

test('a relay whose database is frozen is closed after three seconds', async () => {
  const database = await createTestDatabase();
  const proxy = await startProxy(database.url);
  const pool = new Pool({ connectionString: proxy.url });
  const platform = fixedPlatform();
  const relay = new PostgresRunRelay({ pool });
  const reported: unknown[] = [];
  relay.attach({ platform, keepRunsMs: 0, report: (error) => reported.push(error), stop: () => undefined });
  await relay.find({ appName: 'app', userId: 'ann', sessionId: 's' }, 'e-1');
  proxy.freeze();
  const { pendingTimers } = platform;
  const closed = relay.close();
  await expect.poll(() => platform.pendingTimers).toBeGreaterThan(pendingTimers);
  platform.advance(3000);
  await closed;
  expect(reported).toEqual([]);
  proxy.stop();
  await pool.end();
  await proxy.close();
  await database.drop();
});

test('a server whose database is stopped or frozen answers /readyz with 503 and keeps running', async () => {
  const database = await createTestDatabase();
  const proxy = await startProxy(database.url);
  const pool = new Pool({ connectionString: proxy.url });
  const sessionService = new PostgresSessionService({ pool, queryTimeoutMs: 86_400_000 });
  const platform = fixedPlatform();
  const { send } = serveApp({ sessionService, platform });
  const probe = async (path: string) => {
    // A successful check counts for a second: it has expired at the next request.
    platform.advance(1000);
    const response = await send('GET', path);
    return [response.status, await response.json()];
  };
  const unavailable = [503, { status: 'storage unavailable' }];
  expect(await probe('/readyz')).toEqual([200, { status: 'ok' }]);
  proxy.freeze();
  const pendingTimers = platform.pendingTimers;
  const late = Promise.all([probe('/readyz'), probe('/readyz')]);
  await expect.poll(() => platform.pendingTimers).toBe(pendingTimers + 1);
  platform.advance(2000);
  expect(await late).toEqual([unavailable, unavailable]);
  expect(await probe('/livez')).toEqual([200, { status: 'ok' }]);
  proxy.stop();
  expect(await probe('/readyz')).toEqual(unavailable);
  proxy.resume();
  await expect.poll(() => probe('/readyz')).toEqual([200, { status: 'ok' }]);
  await pool.end();
  await proxy.close();
  await database.drop();
});
