import { ConfigurationError } from '../errors.ts';
import type { PostgresClient } from './postgres-pool.ts';

/** Maximum length of a name: PostgreSQL truncates longer ones. */
const MAX_IDENTIFIER_BYTES = 63;
/** Advisory lock that is held while tables of Eventloom are migrated; the number is arbitrary. */
const LOCK = 6_270_919_034_117;

/** The tables of one service in a database. Their version is a row of a table that all services of the schema share. */
interface PostgresTables {
  /** The key of the row with the version. */
  readonly versionKey: string;
  /** The name of the table with the versions as SQL. */
  readonly meta: string;
  /** The name of the schema; undefined for the first one of the search path. */
  readonly schema: string | undefined;
}

/** The part of a client that runs statements. */
type Queries = Pick<PostgresClient, 'query'>;

/**
 * Returns what precedes the name of a table in a schema as SQL; an empty text without a schema.
 * @throws ConfigurationError for a name that PostgreSQL does not accept
 */
export function schemaPrefix(service: string, schema: string | undefined): string {
  if (schema === undefined) return '';
  const bytes = new TextEncoder().encode(schema).length;
  if (bytes === 0 || bytes > MAX_IDENTIFIER_BYTES || schema.includes('\0') || !schema.isWellFormed())
    throw new ConfigurationError(
      `${service}: schema: expected a schema name of 1 to ${MAX_IDENTIFIER_BYTES} bytes, got ${JSON.stringify(schema.slice(0, 100))}; write schema: 'eventloom'`,
    );
  if (schema.startsWith('pg_'))
    throw new ConfigurationError(
      `${service}: schema ${JSON.stringify(schema)}: PostgreSQL reserves names that begin with pg_; choose another one`,
    );
  return `${quoted(schema)}.`;
}

/**
 * Migrates tables to the version of this program, in one transaction, which the caller rolls back after an error. Other tables stay
 * unchanged. If several programs start at once, one of them creates the tables.
 *
 * @param steps each has the statements from version `index` to `index + 1`
 * @param checkVersion throws for a version that this program does not know
 */
export async function migrateTables(
  client: Queries,
  tables: PostgresTables,
  steps: readonly (readonly string[])[],
  checkVersion: (version: number) => void,
): Promise<void> {
  const { versionKey, meta, schema } = tables;
  const execute = (text: string, values: unknown[] = []) => client.query({ text, values });
  await execute('BEGIN ISOLATION LEVEL READ COMMITTED');
  await execute('SELECT pg_advisory_xact_lock($1::bigint)', [LOCK]);
  const version = await versionOf(client, tables);
  checkVersion(version);
  if (version < steps.length) {
    if (schema !== undefined && !(await isFound(client, SCHEMA_OF_NAME, schema)))
      await execute(`CREATE SCHEMA ${quoted(schema)}`);
    await execute(`CREATE TABLE IF NOT EXISTS ${meta} (key text PRIMARY KEY, value bigint NOT NULL)`);
    for (const step of steps.slice(version)) for (const statement of step) await execute(statement);
    await execute(
      `INSERT INTO ${meta} (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [versionKey, steps.length],
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
export async function versionOf(client: Queries, tables: PostgresTables): Promise<number> {
  return (await isFound(client, META_OF_SCHEMA, tables.schema ?? null)) ? readVersion(client, tables) : 0;
}

/** Reads the version in the table of versions; 0 if there is none. */
export async function readVersion(
  client: Queries,
  { meta, versionKey }: Pick<PostgresTables, 'meta' | 'versionKey'>,
): Promise<number> {
  const { rows } = await client.query({ text: `SELECT value FROM ${meta} WHERE key = $1`, values: [versionKey] });
  const [row] = rows as readonly { readonly value: unknown }[];
  return Number(row?.value ?? 0);
}

async function isFound(client: Queries, text: string, name: string | null): Promise<boolean> {
  return (await client.query({ text, values: [name] })).rows.length > 0;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
