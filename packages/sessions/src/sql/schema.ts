import { ConfigurationError } from '@eventloom/core';
import type { SqlConnection } from './sql-connection.ts';

/** An event's key is `session << SEQ_BITS | seq`: events lie in append order, session by session, in one tree. */
export const SEQ_BITS = 31;
export const SEQ_MASK = 2 ** SEQ_BITS - 1;

/**
 * Times are milliseconds since the epoch, except timestamps, which are the seconds of events.
 *
 * A turn should write few pages, so an append writes only the event:
 * - `eventloom_sessions` has data that seldom changes. A session was last updated when its last event was appended; `listed_at` may lag
 *   behind that, see `SqlListing`.
 * - `eventloom_holds` has a row for each session that is leased or has an open run, so few rows that they need no index. `lease_until` is 0
 *   when no lease is live. An event of the hold's `epoch` renews the lease for `lease_ttl` from its `appended_at`. `open_first_seq` is null
 *   for an open run that was forgotten.
 * - The latest epoch of a session is the greatest of those in its row, its hold and its last event.
 * - `eventloom_session_runs` has a row for each run that is not open, under its invocation id, and one for each request id. A request that
 *   was cancelled before its run began has a row as a run of its own. The ids of an open run are in the hold. `last_seq`, `outcome` and
 *   `code` are those of the run's last end, null if it was not recorded.
 *
 * `high_timestamp` is an event's timestamp as long as timestamps never decrease: such events are found by bisection. From the first event
 * that is dated before an earlier one it is infinite, and `timestamp` is set only there. `compaction_end` is set for events with
 * `actions.compaction`. `event` is the last column, so that the others are read without the pages of a long event.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO eventloom_meta VALUES ('sessions.epoch', 0);

  CREATE TABLE eventloom_sessions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created_at REAL NOT NULL,
    listed_at REAL NOT NULL,
    epoch INTEGER NOT NULL,
    UNIQUE (app_name, user_id, session_id)
  ) STRICT;
  CREATE INDEX eventloom_app_listing ON eventloom_sessions (app_name, listed_at);
  CREATE INDEX eventloom_user_listing ON eventloom_sessions (app_name, user_id, listed_at);

  CREATE TABLE eventloom_holds (
    session INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    lease_until REAL NOT NULL,
    lease_ttl REAL NOT NULL,
    open_run TEXT,
    open_request TEXT,
    open_first_seq INTEGER,
    open_attempts INTEGER NOT NULL DEFAULT 0,
    open_resumable INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE eventloom_session_runs (
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER,
    outcome TEXT,
    code TEXT,
    PRIMARY KEY (session, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE eventloom_lease_tickets (
    session INTEGER NOT NULL,
    since REAL NOT NULL,
    id TEXT NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (session, since, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE eventloom_run_webhooks (
    id TEXT PRIMARY KEY,
    session INTEGER NOT NULL,
    invocation_id TEXT NOT NULL,
    url TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX eventloom_webhooks_of ON eventloom_run_webhooks (session);
  CREATE INDEX eventloom_webhooks_due ON eventloom_run_webhooks (due_at, id);

  CREATE TABLE eventloom_events (
    pk INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    appended_at REAL NOT NULL,
    high_timestamp REAL NOT NULL,
    timestamp REAL,
    compaction_end REAL,
    event TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX eventloom_event_ids ON eventloom_events (session, event_id);
  CREATE INDEX eventloom_times ON eventloom_events (session, timestamp) WHERE timestamp IS NOT NULL;
  CREATE INDEX eventloom_compactions ON eventloom_events (session, compaction_end) WHERE compaction_end IS NOT NULL;

  CREATE TABLE eventloom_app_state (
    app_name TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (app_name, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE eventloom_user_state (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (app_name, user_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE eventloom_session_state (
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE eventloom_initial_state (
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE eventloom_tool_calls (
    session INTEGER NOT NULL,
    invocation_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    response TEXT,
    actions TEXT,
    PRIMARY KEY (session, invocation_id, call_id)
  ) STRICT, WITHOUT ROWID;
`;

/** Each step migrates a database from version `index` to `index + 1`. A released step is never edited. */
export const MIGRATIONS: readonly string[] = [TABLES];

/** The version of the tables that this program creates and uses. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Migrates the session tables to the version of this program, once, in one transaction. Other tables stay unchanged.
 * Ends the leases of the older version: a program that still runs it gets StaleWriterError, and no new lease.
 *
 * @throws ConfigurationError if a newer program created the tables
 */
export function migrateSessions(connection: SqlConnection, migrations: readonly string[] = MIGRATIONS): void {
  if (versionOf(connection) === migrations.length) return;
  connection.write(() => {
    // Read again under the lock: another process may have migrated in the meantime.
    const version = versionOf(connection);
    if (version > migrations.length) throw newerTablesError(version);
    for (const step of migrations.slice(version)) connection.exec(step);
    connection.exec('UPDATE eventloom_holds SET lease_until = 0 WHERE lease_until > 0');
    connection.exec(`INSERT OR REPLACE INTO eventloom_meta VALUES ('sessions.schema', ${migrations.length})`);
  });
}

/** Creates the error for tables of a newer program: they may have been migrated since this program started. */
export function newerTablesError(version: number): ConfigurationError {
  return new ConfigurationError(
    `the session tables have version ${version}, and this program supports versions up to ${SCHEMA_VERSION}; update @eventloom/sessions`,
  );
}

function versionOf(connection: SqlConnection): number {
  const table = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'eventloom_meta'").get();
  const row = table && connection.prepare("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").get();
  return Number(row?.['value'] ?? 0);
}
