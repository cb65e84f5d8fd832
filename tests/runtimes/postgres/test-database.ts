import { Client } from 'pg';
import { inject } from 'vitest';
import type {} from './provided-postgres.ts';

/** A database of a test's own, empty at first. */
export interface TestDatabase {
  readonly url: string;
  /** Removes it, and ends whatever is still connected to it. */
  drop(): Promise<void>;
}

/** Makes a database on the server of this test run. @throws Error when the server did not start */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { url, failure } = inject('postgres');
  if (url === undefined) throw new Error(failure);
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  await execute(url, `CREATE DATABASE ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, drop: () => execute(url, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
