import { ConfigurationError } from '@eventloom/core';

/** The quoted names of the tables, with the schema if one is given. */
export interface RelayTables {
  /** The quoted schema; undefined for the first schema of the connection's search path. */
  readonly schema: string | undefined;
  readonly meta: string;
  readonly hosts: string;
  readonly runs: string;
  readonly chunks: string;
}

/** PostgreSQL truncates longer names. */
const MAX_IDENTIFIER_BYTES = 63;

/** @throws ConfigurationError for a schema name that PostgreSQL does not accept */
export function relayTablesOf(schema: string | undefined): RelayTables {
  const quoted = schema === undefined ? undefined : quoteIdentifier(schema);
  const place = quoted === undefined ? '' : `${quoted}.`;
  return {
    schema: quoted,
    meta: `${place}eventloom_meta`,
    hosts: `${place}eventloom_relay_hosts`,
    runs: `${place}eventloom_relay_runs`,
    chunks: `${place}eventloom_relay_chunks`,
  };
}

function quoteIdentifier(name: string): string {
  const bytes = new TextEncoder().encode(name).length;
  if (bytes === 0 || bytes > MAX_IDENTIFIER_BYTES || name.includes('\0') || !name.isWellFormed()) {
    throw new ConfigurationError(
      `PostgresRunRelay: schema: expected a schema name of 1 to ${MAX_IDENTIFIER_BYTES} bytes, got ${JSON.stringify(name.slice(0, 100))}; write schema: 'eventloom'`,
    );
  }
  return `"${name.replaceAll('"', '""')}"`;
}
