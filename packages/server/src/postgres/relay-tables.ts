import { schemaPrefix } from '@eventloom/core/internal';

/** The quoted names of the tables, with the schema if one is given. */
export interface RelayTables {
  /** The schema; undefined for the first schema of the connection's search path. */
  readonly schema: string | undefined;
  readonly meta: string;
  readonly hosts: string;
  readonly runs: string;
  readonly chunks: string;
}

/** @throws ConfigurationError for a schema name that PostgreSQL does not accept */
export function relayTablesOf(schema: string | undefined): RelayTables {
  const place = schemaPrefix('PostgresRunRelay', schema);
  return {
    schema,
    meta: `${place}eventloom_meta`,
    hosts: `${place}eventloom_relay_hosts`,
    runs: `${place}eventloom_relay_runs`,
    chunks: `${place}eventloom_relay_chunks`,
  };
}
