import { ConfigurationError } from '@eventloom/core';
import type { SqlConnection } from './sql-connection.ts';

/** An event's key is `session << SEQ_BITS | seq`: events lie in append order, session by session, in one tree. */
export const SEQ_BITS = 31;
export const SEQ_MASK = 2 ** SEQ_BITS - 1;

/**
 * Times are milliseconds since the epoch, but timestamps, which are the seconds of events. `high_timestamp` is the latest timestamp
 * among an event and all before it; the fourth step changes that. When a session was last updated is when its last event was
 * appended, and a lease lasts at least `lease_ttl` from then: an append writes the event and nothing else. `lease_until` is 0 when no
 * lease is live.
 */
const FIRST = `
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
    epoch INTEGER NOT NULL,
    lease_until REAL NOT NULL DEFAULT 0,
    lease_ttl REAL NOT NULL DEFAULT 0,
    UNIQUE (app_name, user_id, session_id)
  ) STRICT;

  CREATE TABLE eventloom_events (
    pk INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    high_timestamp REAL NOT NULL,
    appended_at REAL NOT NULL,
    event TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX eventloom_event_ids ON eventloom_events (session, event_id);

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

  CREATE TABLE eventloom_tool_calls (
    session INTEGER NOT NULL,
    invocation_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    response TEXT,
    PRIMARY KEY (session, invocation_id, call_id)
  ) STRICT, WITHOUT ROWID;
`;

/**
 * `compaction_end` is what an event with `actions.compaction` says of itself, in seconds: its index finds the compactions of a
 * session without reading its history. The initial state is the session's own keys as it was created with them; of sessions made
 * before this step it is not known, and none. `listed_at` is when a session was last updated, or shortly before: see `SqlListing`.
 */
const SECOND = `
  ALTER TABLE eventloom_sessions ADD COLUMN listed_at REAL NOT NULL DEFAULT 0;
  UPDATE eventloom_sessions SET listed_at = coalesce(
    (SELECT appended_at FROM eventloom_events AS event
      WHERE event.pk > (eventloom_sessions.pk << ${SEQ_BITS}) AND event.pk < ((eventloom_sessions.pk + 1) << ${SEQ_BITS})
      ORDER BY event.pk DESC LIMIT 1),
    created_at);
  CREATE INDEX eventloom_app_listing ON eventloom_sessions (app_name, listed_at);
  CREATE INDEX eventloom_user_listing ON eventloom_sessions (app_name, user_id, listed_at);

  ALTER TABLE eventloom_events ADD COLUMN compaction_end REAL;
  UPDATE eventloom_events SET compaction_end = json_extract(event, '$.actions.compaction.endTimestamp')
    WHERE instr(event, '"compaction"') > 0
      AND json_type(event, '$.actions.compaction.endTimestamp') IN ('integer', 'real');
  CREATE INDEX eventloom_compactions ON eventloom_events (session, compaction_end) WHERE compaction_end IS NOT NULL;

  CREATE TABLE eventloom_initial_state (
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session, key)
  ) STRICT, WITHOUT ROWID;
`;

/** Adds the changes and signals of a tool call, as the actions of an event. */
const THIRD = 'ALTER TABLE eventloom_tool_calls ADD COLUMN actions TEXT';

/**
 * A session's open run is in its row, and found by an index that has only these. A ticket is the place of one who waits for a lease
 * in the line of several processes. `lease_after` is the key of the last event when the lease was given: an append renews the lease
 * only if it came later, so that the time of an event from elsewhere says nothing of it.
 *
 * Events whose timestamps never go back are found by bisection: `high_timestamp` is their own. From the first event on that is dated
 * before an earlier one, it is infinite, and `timestamp` is the event's, which an index has.
 */
const FOURTH = `
  ALTER TABLE eventloom_sessions ADD COLUMN lease_after INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE eventloom_sessions ADD COLUMN open_run TEXT;
  ALTER TABLE eventloom_sessions ADD COLUMN open_attempts INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX eventloom_open_runs ON eventloom_sessions (app_name, user_id, session_id) WHERE open_run IS NOT NULL;

  CREATE TABLE eventloom_lease_tickets (
    session INTEGER NOT NULL,
    since REAL NOT NULL,
    id TEXT NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (session, since, id)
  ) STRICT, WITHOUT ROWID;

  ALTER TABLE eventloom_events ADD COLUMN timestamp REAL;
  UPDATE eventloom_events SET timestamp = json_extract(event, '$.timestamp'), high_timestamp = 9e999
    FROM (
      SELECT session AS owner, min(pk) AS first FROM eventloom_events
      WHERE json_extract(event, '$.timestamp') < high_timestamp GROUP BY session
    )
    WHERE pk >= first AND pk < ((owner + 1) << ${SEQ_BITS});
  CREATE INDEX eventloom_times ON eventloom_events (session, timestamp) WHERE timestamp IS NOT NULL;
`;

/**
 * Every run that was begun and has not ended is its session's open run, resumable or not. `eventloom_session_runs` has a row for each run of a
 * session, under its invocation id, and one for each request id. Of sessions from before this step the runs are known, and no requests.
 */
const FIFTH = `
  ALTER TABLE eventloom_sessions ADD COLUMN open_resumable INTEGER NOT NULL DEFAULT 1;
  CREATE TABLE eventloom_session_runs (
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    PRIMARY KEY (session, id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO eventloom_session_runs (session, id, invocation_id, first_seq)
    SELECT session, run, run, min(seq) FROM (
      SELECT session, json_extract(event, '$.invocationId') AS run, pk & ${SEQ_MASK} AS seq
      FROM eventloom_events WHERE event GLOB '{*'
    ) WHERE run <> '' GROUP BY session, run;
`;

/** Adds the webhooks of runs. A webhook is removed when it is delivered or given up, so there are few. */
const SIXTH = `
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
`;

/** The outcome of a run, in its row, with the number of the session's last event then. A run from before this step does not say. */
const SEVENTH = `
  ALTER TABLE eventloom_session_runs ADD COLUMN last_seq INTEGER;
  ALTER TABLE eventloom_session_runs ADD COLUMN outcome TEXT;
  ALTER TABLE eventloom_session_runs ADD COLUMN code TEXT;
`;

/** Each step brings a database from version `index` to `index + 1`. A step that was released is never edited. */
const MIGRATIONS: readonly string[] = [FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH];

/** The version of the tables that this program makes and works on. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Migrates the session tables to the version of this program, once, in one transaction. Other tables are not touched.
 * Leases of the older version end: a program that still runs it gets StaleWriterError, and no new lease.
 * @throws ConfigurationError if a newer program made the tables
 */
export function migrateSessions(connection: SqlConnection): void {
  if (versionOf(connection) === SCHEMA_VERSION) return;
  connection.write(() => {
    // Read again under the lock: another process may have done it meanwhile.
    const version = versionOf(connection);
    if (version > SCHEMA_VERSION) throw newerTablesError(version);
    for (const step of MIGRATIONS.slice(version)) connection.exec(step);
    connection.exec('UPDATE eventloom_sessions SET lease_until = 0 WHERE lease_until > 0');
    connection.exec(`INSERT OR REPLACE INTO eventloom_meta VALUES ('sessions.schema', ${SCHEMA_VERSION})`);
  });
}

/** The tables are of a newer program, from the begin or since it started. */
export function newerTablesError(version: number): ConfigurationError {
  return new ConfigurationError(
    `the session tables have version ${version}, this program knows versions up to ${SCHEMA_VERSION}; update @eventloom/sessions`,
  );
}

function versionOf(connection: SqlConnection): number {
  const table = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'eventloom_meta'").get();
  const row = table && connection.prepare("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").get();
  return Number(row?.['value'] ?? 0);
}
