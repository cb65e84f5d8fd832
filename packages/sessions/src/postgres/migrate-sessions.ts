import type { PostgresClient } from '@eventloom/core/internal';
import { type Migration, MIGRATIONS } from './schema.ts';
import { checkVersion, SCHEMA_VERSION, VERSION_KEY, versionSql } from './schema-version.ts';
import { quoteIdentifier, type Tables } from './tables.ts';

/** Advisory lock that is held while tables of Eventloom are migrated; the number is arbitrary. */
const LOCK = 6_270_919_034_117;

/** The part of a client with which a migration runs its statements. */
type Queries = Pick<PostgresClient, 'query'>;

/** True if the tables have the version of this program. @throws ConfigurationError if a newer program created them */
export async function isMigrated(client: Queries, tables: Tables, schema: string | undefined): Promise<boolean> {
  const version = await versionOf(client, tables, schema);
  checkVersion(version);
  return version === SCHEMA_VERSION;
}

/**
 * Migrates the session tables to the version of this program, in one transaction. Other tables stay unchanged. If
 * several programs start at once, one of them creates the tables.
 *
 * @throws ConfigurationError if a newer program created the tables
 */
export async function migrateSessions(
  client: Queries,
  tables: Tables,
  schema: string | undefined,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const execute = (text: string, values: unknown[] = []) => client.query({ text, values });
  await execute('BEGIN ISOLATION LEVEL READ COMMITTED');
  await execute('SELECT pg_advisory_xact_lock($1::bigint)', [LOCK]);
  const version = await versionOf(client, tables, schema);
  checkVersion(version, migrations.length);
  if (version < migrations.length) {
    if (schema !== undefined && !(await isFound(client, SCHEMA_OF_NAME, schema))) {
      await execute(`CREATE SCHEMA ${quoteIdentifier(schema)}`);
    }
    await execute(`CREATE TABLE IF NOT EXISTS ${tables.meta} (key text PRIMARY KEY, value bigint NOT NULL)`);
    for (const step of migrations.slice(version)) for (const statement of step(tables)) await execute(statement);
    await execute(
      `INSERT INTO ${tables.meta} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [VERSION_KEY, migrations.length],
    );
  }
  await execute('COMMIT');
}

/**
 * Queries for a schema, and for a table in a schema or on the search path. They read the catalogs as tables:
 * PostgreSQL's own functions may return the state at the start of the transaction, and another program may have created
 * the name while this one waited.
 */
const SCHEMA_OF_NAME = 'SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1';
const META_OF_SCHEMA = `
  SELECT FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS schema ON schema.oid = class.relnamespace
  WHERE relname = 'eventloom_meta' AND (nspname = $1 OR $1::text IS NULL AND nspname = ANY (current_schemas(false)))`;

/** Returns the version of the tables; 0 if there are none. */
async function versionOf(client: Queries, tables: Tables, schema: string | undefined): Promise<number> {
  if (!(await isFound(client, META_OF_SCHEMA, schema ?? null))) return 0;
  return readVersion(client, tables);
}

/** Reads the version in the tables; 0 if there is none. */
export async function readVersion(client: Queries, tables: Tables): Promise<number> {
  const { rows } = await client.query({ text: `SELECT ${versionSql(tables)} AS version` });
  const [row] = rows as readonly { readonly version: unknown }[];
  return Number(row?.version ?? 0);
}

async function isFound(client: Queries, text: string, name: string | null): Promise<boolean> {
  return (await client.query({ text, values: [name] })).rows.length > 0;
}
