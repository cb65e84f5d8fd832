import { ConfigurationError } from '@eventloom/core';

/** The names of the tables as SQL: quoted, and with their schema when there is one. */
export interface Tables {
  readonly meta: string;
  readonly sessions: string;
  readonly events: string;
  readonly state: string;
  readonly initialState: string;
  readonly toolCalls: string;
  readonly tickets: string;
  readonly runs: string;
  readonly webhooks: string;
  readonly epochs: string;
  /** The time that leases are measured with, in milliseconds: that of the database, or a parameter with that of the platform. */
  readonly clock: (parameter: string) => string;
}

/** The clock that leases are measured with. */
export type LeaseClock = 'database' | 'platform';

const DATABASE_CLOCK = '(extract(epoch FROM statement_timestamp()) * 1000)::double precision';

/** Maximum length of a name: PostgreSQL truncates longer ones. */
const MAX_IDENTIFIER_BYTES = 63;

/** @throws ConfigurationError for a schema whose name PostgreSQL does not take */
export function tablesOf(schema: string | undefined, clock: LeaseClock = 'database'): Tables {
  const place = schema === undefined ? '' : `${quoteIdentifier(schema)}.`;
  return {
    meta: `${place}eventloom_meta`,
    sessions: `${place}eventloom_sessions`,
    events: `${place}eventloom_events`,
    state: `${place}eventloom_state`,
    initialState: `${place}eventloom_initial_state`,
    toolCalls: `${place}eventloom_tool_calls`,
    tickets: `${place}eventloom_lease_tickets`,
    runs: `${place}eventloom_session_runs`,
    webhooks: `${place}eventloom_run_webhooks`,
    epochs: `${place}eventloom_epochs`,
    clock: (parameter) => (clock === 'database' ? DATABASE_CLOCK : `${parameter}::double precision`),
  };
}

/** Text as SQL, for servers that take backslashes as they are and for those that do not. */
export function quoteText(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** A name as SQL. @throws ConfigurationError for one that PostgreSQL does not take */
export function quoteIdentifier(name: string): string {
  const bytes = new TextEncoder().encode(name).length;
  if (bytes === 0 || bytes > MAX_IDENTIFIER_BYTES || name.includes('\0') || !name.isWellFormed()) {
    throw new ConfigurationError(
      `schema: expected a schema name of 1 to ${MAX_IDENTIFIER_BYTES} bytes, got ${JSON.stringify(name)}`,
    );
  }
  if (name.startsWith('pg_')) {
    throw new ConfigurationError(
      `schema ${JSON.stringify(name)}: PostgreSQL reserves names that begin with pg_; choose another one`,
    );
  }
  return `"${name.replaceAll('"', '""')}"`;
}
