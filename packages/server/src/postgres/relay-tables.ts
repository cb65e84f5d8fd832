import { ConfigurationError } from '@eventloom/core';

/** The quoted names of the tables, with their schema if one was given. */
export interface RelayTables {
  /** The schema as SQL; undefined when it is the one that the connection finds first. */
  readonly schema: string | undefined;
  readonly meta: string;
  readonly hosts: string;
  readonly runs: string;
  readonly chunks: string;
}

/** PostgreSQL truncates longer names. */
const MAX_IDENTIFIER_BYTES = 63;

/** @throws ConfigurationError for a schema whose name PostgreSQL does not take */
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
      `PostgresRunRelay: schema: expected a schema name of 1 to ${MAX_IDENTIFIER_BYTES} bytes, got ${JSON.stringify(name)}`,
    );
  }
  return `"${name.replaceAll('"', '""')}"`;
}
