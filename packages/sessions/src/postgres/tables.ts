import { schemaPrefix } from '@eventloom/core/internal';

/** The names of the tables as SQL: quoted, and with their schema if there is one. */
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
  /**
   * Returns the time by which leases are measured, in milliseconds, as SQL: the database's time, or a parameter with
   * the platform's.
   */
  readonly clock: (parameter: string) => string;
}

/** The clock by which leases are measured. */
export type LeaseClock = 'database' | 'platform';

const DATABASE_CLOCK = '(extract(epoch FROM statement_timestamp()) * 1000)::double precision';

/** @throws ConfigurationError for a schema name that PostgreSQL does not accept */
export function tablesOf(schema: string | undefined, clock: LeaseClock = 'database'): Tables {
  const place = schemaPrefix('PostgresSessionService', schema);
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

/** Quotes text as SQL, for servers with and without standard_conforming_strings. */
export function quoteText(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
