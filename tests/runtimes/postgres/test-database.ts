import { Client, Pool } from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import type {} from './provided-postgres.ts';

/** A separate, initially empty database for a test. */
export interface TestDatabase {
  readonly url: string;
  /** Deletes the database, and ends all connections to it. */
  drop(): Promise<void>;
}

/**
 * Creates a database on the server of this test run.
 *
 * @throws Error if the server did not start
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const database = planDatabase();
  await database.create();
  return database;
}

/**
 * Gives the tests of a file or a `describe` a database, and connections to it. Both exist from before its first test
 * until after its last.
 */
export function useTestDatabase(): { readonly url: string; readonly pool: Pool } {
  const database = planDatabase();
  const pool = new Pool({ connectionString: database.url });
  beforeAll(() => database.create());
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });
  return { url: database.url, pool };
}

function planDatabase(): TestDatabase & { create(): Promise<void> } {
  const { url, failure } = inject('postgres');
  if (url === undefined) throw new Error(failure);
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, create: () => execute(url, `CREATE DATABASE ${name}`), drop: () => drop(url, name) };
}

/** Waits in the server, for a second at most, until the connections to a database have ended by themselves. */
const untilUnused = (name: string): string => `
  DO $$ BEGIN
    FOR attempt IN 1..500 LOOP
      PERFORM pg_stat_clear_snapshot();
      EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '${name}');
      PERFORM pg_sleep(0.002);
    END LOOP;
  END $$`;

/**
 * Deletes a database. A pool reports its end before its connections have ended, and the server ending one of them in
 * between would be an uncaught error.
 */
async function drop(url: string, name: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(untilUnused(name));
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });
}

async function execute(url: string, statement: string): Promise<void> {
  await withClient(url, (client) => client.query(statement));
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
