import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { fixedPlatform } from '@eventloom/testing';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { serveApp } from '../fixtures/server-scenario.ts';

function setUp() {
  const database = new DatabaseSync(':memory:');
  const platform = fixedPlatform();
  const sessionService = new SqliteSessionService({ database, platform });
  const { send } = serveApp({ sessionService, platform });
  const statusOf = async (path: string) => (await send('GET', path)).status;
  /** Requests /readyz after the last result has expired. */
  const readyz = (): Promise<number> => {
    platform.advance(1000);
    return statusOf('/readyz');
  };
  return { database, readyz, statusOf };
}

test('a server whose disk is full answers /readyz with 503, although its sessions can be read', async () => {
  const { database, readyz, statusOf } = setUp();
  expect(await readyz()).toBe(200);
  // Writes first use the pages that the earlier check has freed, as runs do.
  database.exec('VACUUM');
  const { page_count: pages } = database.prepare('PRAGMA page_count').get() ?? {};
  database.exec(`PRAGMA max_page_count = ${Number(pages)}`);
  expect(await statusOf('/apps/app/users/ann/sessions')).toBe(200);
  expect([await readyz(), await readyz(), await statusOf('/livez')]).toEqual([503, 503, 200]);
  database.exec('PRAGMA max_page_count = 1000000');
  expect(await readyz()).toBe(200);
});

test('a server whose database is read-only answers /readyz with 503', async () => {
  const { database, readyz } = setUp();
  database.exec('PRAGMA query_only = on');
  expect(await readyz()).toBe(503);
  database.exec('PRAGMA query_only = off');
  expect(await readyz()).toBe(200);
});

test('requests for /readyz make at most one write a second while the storage works', async () => {
  const { database, readyz, statusOf } = setUp();
  await readyz();
  const changes = () => Number(database.prepare('SELECT total_changes() AS changes').get()?.['changes']);
  const before = changes();
  expect([await statusOf('/readyz'), await statusOf('/readyz')]).toEqual([200, 200]);
  expect(changes()).toBe(before);
  await readyz();
  expect(changes()).toBeGreaterThan(before);
});
