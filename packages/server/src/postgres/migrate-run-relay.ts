import { ConfigurationError } from '@eventloom/core';
import { listenToClient, type PostgresClient, type PostgresPool, type PostgresQuery } from '@eventloom/core/internal';
import { migrations } from './relay-schema.ts';
import type { RelayTables } from './relay-tables.ts';

/** Advisory lock that is held while tables of Eventloom, including those of sessions, are migrated. */
const LOCK = 6_270_919_034_117;
const VERSION = 'relay.schema';

/**
 * Migrates the relay's tables to the version of this program, in one transaction. Other tables stay unchanged. If
 * several programs start at once, one of them creates the tables.
 *
 * @throws ConfigurationError if a newer program created the tables
 */
export async function migrateRunRelay(pool: PostgresPool, tables: RelayTables): Promise<void> {
  if ((await versionOf(pool, tables)) === migrations.length) return;
  const client = await pool.connect();
  listenToClient(client);
  let isBroken = false;
  try {
    await client.query({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' });
    await client.query({ text: 'SELECT pg_advisory_xact_lock($1::bigint)', values: [LOCK] });
    await migrate(client, tables);
    await client.query({ text: 'COMMIT' });
  } catch (error) {
    await client.query({ text: 'ROLLBACK' }).catch(() => void (isBroken = true));
    throw error;
  } finally {
    client.release(isBroken);
  }
}

async function migrate(client: PostgresClient, tables: RelayTables): Promise<void> {
  const { meta, schema } = tables;
  if (schema !== undefined && !(await exists(client, 'to_regnamespace', schema))) {
    await client.query({ text: `CREATE SCHEMA IF NOT EXISTS ${schema}` });
  }
  // Runs before the version is read: a lookup of the table by its name misses one that was created while this connection waited for the lock.
  await client.query({
    text: `CREATE TABLE IF NOT EXISTS ${meta} (key text PRIMARY KEY, value bigint NOT NULL)`,
  });
  const version = await readVersion(client, tables);
  if (version === migrations.length) return;
  for (const step of migrations.slice(version)) for (const text of step(tables)) await client.query({ text });
  await client.query({
    text: `INSERT INTO ${meta} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    values: [VERSION, migrations.length],
  });
}

interface Queryable {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * Returns the version of the tables; 0 if there are none.
 *
 * @throws ConfigurationError for a version that this program does not know
 */
async function versionOf(connection: Queryable, tables: RelayTables): Promise<number> {
  return (await exists(connection, 'to_regclass', tables.meta)) ? readVersion(connection, tables) : 0;
}

async function readVersion(connection: Queryable, { meta }: RelayTables): Promise<number> {
  const { rows } = await connection.query({ text: `SELECT value FROM ${meta} WHERE key = $1`, values: [VERSION] });
  const [row] = rows as readonly { readonly value: unknown }[];
  const version = Number(row?.value ?? 0);
  if (version <= migrations.length) return version;
  throw new ConfigurationError(
    `the run relay's tables have version ${version}, and this program supports versions up to ${migrations.length}; update @eventloom/server`,
  );
}

async function exists(
  connection: Queryable,
  lookUp: 'to_regclass' | 'to_regnamespace',
  name: string,
): Promise<boolean> {
  const { rows } = await connection.query({ text: `SELECT ${lookUp}($1) IS NOT NULL AS found`, values: [name] });
  const [row] = rows as readonly { readonly found: boolean }[];
  return row?.found === true;
}
