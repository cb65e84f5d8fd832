import { SCHEMA_VERSION, SEQ_BITS, SEQ_MASK } from './schema.ts';
import { TICKET_TTL_MS } from '../lease-claim.ts';
import { KEY_BYTES } from '../state-limit.ts';
import type { SqlConnection, SqlStatement } from './sql-connection.ts';

/** The key of an event; both arguments are SQL. Bit operators convert values bound as REAL to integers. */
const eventKey = (session: string, seq: string): string => `((${session} << ${SEQ_BITS}) | ${seq})`;
/** Condition for the keys of a session's events; `session` is SQL for the session's key. */
const eventsOf = (session: string): string =>
  `pk > (${session} << ${SEQ_BITS}) AND pk < ((${session} + 1) << ${SEQ_BITS})`;

const THIS_SESSION = 'app_name = ?1 AND user_id = ?2 AND session_id = ?3';
/** Condition for the hold of that session if the lease of the epoch ?4 is live. */
const LIVE_HOLD = `session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION}) AND epoch = ?4 AND lease_until > 0`;

/** Tickets that expire later than this were left by a process whose clock was ahead. */
const MAX_TICKET_MS = 2 * TICKET_TTL_MS;

/** The version of the tables, which a newer program may have increased since this one started. */
const VERSION = "(SELECT value FROM eventloom_meta WHERE key = 'sessions.schema')";

const LAST_EVENT = `
  LEFT JOIN eventloom_events AS last
    ON last.pk = (SELECT max(pk) FROM eventloom_events WHERE ${eventsOf('session.pk')})`;
/** A column of the last event of a hold's session. */
const lastEvent = (column: string): string =>
  `(SELECT ${column} FROM eventloom_events WHERE ${eventsOf('eventloom_holds.session')} ORDER BY pk DESC LIMIT 1)`;
/** Sessions, each with its hold and its last event. */
const FROM_SESSIONS = `
  FROM eventloom_sessions AS session
  LEFT JOIN eventloom_holds AS hold ON hold.session = session.pk ${LAST_EVENT}`;

/** The run or the request with an id in a session, unless its run was forgotten. `own` is the record of the run. */
const runOf = (session: string, id: string): string => `
  FROM eventloom_session_runs AS run
  JOIN eventloom_session_runs AS own ON own.session = run.session AND own.id = run.invocation_id
  WHERE run.session = ${session} AND run.id = ${id}`;

/** The columns of a SessionRow. */
const SESSION_COLUMNS = `
  session.pk, session.listed_at,
  max(session.epoch, coalesce(hold.epoch, 0), coalesce(last.epoch, 0)) AS epoch,
  iif(hold.lease_until > 0, max(hold.lease_until, iif(last.epoch = hold.epoch, hold.lease_ttl + last.appended_at, 0)), 0) AS free_at,
  hold.open_run, hold.open_request, hold.open_first_seq, hold.open_attempts, hold.open_resumable,
  coalesce(last.pk & ${SEQ_MASK}, 0) AS last_seq,
  last.event_id AS last_id,
  last.high_timestamp,
  coalesce(last.appended_at, session.created_at) AS updated_at,
  ${VERSION} AS version`;

const EVENT_COLUMNS = 'pk, session, event_id, epoch, appended_at, high_timestamp, timestamp, compaction_end, event';
const EVENT_VALUES = `${eventKey('?1', '?2')}, ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9`;

/** The time of the session that is ?3 positions after the first one that the index has at or before ?2. ?1 app, ?4 user. */
const boundary = (condition: string): string => `
  SELECT listed_at FROM eventloom_sessions WHERE app_name = ?1 ${condition} AND listed_at <= ?2
  ORDER BY listed_at DESC LIMIT 1 OFFSET ?3`;

/**
 * A page of a listing: ?1 app, ?2 position in the index; ?3 update time, ?4 session and ?5 user of the last session
 * before; ?6 limit, ?7 user.
 */
const page = (condition: string): string => `
  SELECT * FROM (SELECT user_id, session_id, ${SESSION_COLUMNS} ${FROM_SESSIONS} WHERE app_name = ?1 ${condition} AND listed_at > ?2 AND listed_at <= ?3)
  WHERE updated_at < ?3 OR (updated_at = ?3 AND (session_id, user_id) > (?4, ?5))
  ORDER BY updated_at DESC, session_id, user_id LIMIT ?6`;

/**
 * The approximate number of bytes of a column's JSON, in its row or outside. For a long value, only the header of its
 * row is read.
 */
const sizeOf = (column: string): string =>
  `iif(octet_length(${column}) < 64 AND ${column} GLOB '@*', CAST(substr(${column}, 2) AS INTEGER), octet_length(${column}))`;
/** Approximate size of a state key in a read, without its name and its value, in bytes. */
const STATE_SIZE = `octet_length(key) + ${KEY_BYTES} + ${sizeOf('value')} AS size`;

/** A row of a session: its latest lease, its open run, and data of its last event. */
export interface SessionRow {
  readonly pk: number;
  /** The time of the last update or shortly before it, in milliseconds since the epoch. */
  readonly listed_at: number;
  /** The epoch of the latest lease. */
  readonly epoch: number;
  /** Time at which a live lease expires, in milliseconds since the epoch; 0 if no lease is live. */
  readonly free_at: number;
  readonly open_run: string | null;
  /** The latest request of the open run. */
  readonly open_request: string | null;
  /** Sequence number of the first event of the open run; null if that run was forgotten. */
  readonly open_first_seq: number | null;
  readonly open_attempts: number | null;
  readonly open_resumable: number | null;
  readonly last_seq: number;
  /** The id of the last event; null before the first event. */
  readonly last_id: string | null;
  readonly high_timestamp: number | null;
  readonly updated_at: number;
  /** The version of the tables. */
  readonly version: number;
}

/** A session in a listing of several users. */
export interface ListedRow extends SessionRow {
  readonly user_id: string;
  readonly session_id: string;
}

/** A session at the start of a run. */
export interface BeginRow extends SessionRow {
  /** End of the range that compactions cover. */
  readonly covered_until: number | null;
  /** True (1) if a claim left a ticket that may not have expired. */
  readonly has_tickets: number;
  /** Number of the first event of the run that begins, if it is recorded and not open. */
  readonly first_seq: number | null;
  /** The run of the request that begins, if it is recorded and not that of the open run's last request. */
  readonly asked_run: string | null;
}

/** All statements of the driver, prepared once. */
export type SqlStatements = Readonly<Record<keyof typeof SQL, SqlStatement>>;

const SQL = {
  insertSession: `
    INSERT INTO eventloom_sessions (app_name, user_id, session_id, created_at, listed_at, epoch)
    SELECT ?1, ?2, ?3, ?4, ?4, value FROM eventloom_meta WHERE key = 'sessions.epoch' AND ${VERSION} = ${SCHEMA_VERSION}
    ON CONFLICT DO NOTHING RETURNING pk`,
  version: `SELECT ${VERSION} AS version`,
  session: `SELECT ${SESSION_COLUMNS} ${FROM_SESSIONS} WHERE ${THIS_SESSION}`,
  /** Adds the records of the run ?4 and the request ?5. */
  sessionForRun: `
    SELECT ${SESSION_COLUMNS},
      (SELECT max(compaction_end) FROM eventloom_events INDEXED BY eventloom_compactions
        WHERE session = session.pk AND compaction_end IS NOT NULL) AS covered_until,
      EXISTS (SELECT 1 FROM eventloom_lease_tickets WHERE session = session.pk) AS has_tickets,
      (SELECT first_seq FROM eventloom_session_runs WHERE session = session.pk AND id = ?4 AND invocation_id = ?4) AS first_seq,
      (SELECT run.invocation_id ${runOf('session.pk', '?5')}) AS asked_run
    ${FROM_SESSIONS} WHERE ${THIS_SESSION}`,
  sessionsOfApp: page(''),
  sessionsOfUser: page('AND user_id = ?7'),
  boundaryOfApp: boundary(''),
  boundaryOfUser: boundary('AND user_id = ?4'),
  setListedAt: 'UPDATE eventloom_sessions SET listed_at = ?2 WHERE pk = ?1',
  deleteSession: 'DELETE FROM eventloom_sessions WHERE pk = ?1',
  deleteEvents: `DELETE FROM eventloom_events WHERE ${eventsOf('?1')}`,
  deleteState: 'DELETE FROM eventloom_session_state WHERE session = ?1',
  deleteInitialState: 'DELETE FROM eventloom_initial_state WHERE session = ?1',
  deleteHold: 'DELETE FROM eventloom_holds WHERE session = ?1',
  deleteTickets: 'DELETE FROM eventloom_lease_tickets WHERE session = ?1',
  deleteRuns: 'DELETE FROM eventloom_session_runs WHERE session = ?1',
  deleteWebhooks: 'DELETE FROM eventloom_run_webhooks WHERE session = ?1',
  deleteToolCalls: 'DELETE FROM eventloom_tool_calls WHERE session = ?1',
  raiseEpoch: "UPDATE eventloom_meta SET value = max(value, ?1) WHERE key = 'sessions.epoch'",

  state: `
    SELECT 'app' AS scope, key, value FROM eventloom_app_state WHERE app_name = ?1
    UNION ALL SELECT 'user', key, value FROM eventloom_user_state WHERE app_name = ?1 AND user_id = ?2
    UNION ALL SELECT 'session', key, value FROM eventloom_session_state WHERE session = ?3`,
  /** The size of the state of scope ?4. */
  stateSize: `
    SELECT coalesce(sum(size), 0) AS size FROM (
      SELECT ${STATE_SIZE} FROM eventloom_app_state WHERE app_name = ?1 AND ?4 = 'app'
      UNION ALL SELECT ${STATE_SIZE} FROM eventloom_user_state WHERE app_name = ?1 AND user_id = ?2 AND ?4 = 'user'
      UNION ALL SELECT ${STATE_SIZE} FROM eventloom_session_state WHERE session = ?3 AND ?4 = 'session')`,
  appState: "SELECT 'app' AS scope, key, value FROM eventloom_app_state WHERE app_name = ?1",
  userState: "SELECT 'user' AS scope, key, value FROM eventloom_user_state WHERE app_name = ?1 AND user_id = ?2",
  sessionState: "SELECT 'session' AS scope, key, value FROM eventloom_session_state WHERE session = ?1",
  setAppState: 'INSERT OR REPLACE INTO eventloom_app_state (app_name, key, value) VALUES (?1, ?4, ?5)',
  setUserState: 'INSERT OR REPLACE INTO eventloom_user_state (app_name, user_id, key, value) VALUES (?1, ?2, ?4, ?5)',
  setSessionState: 'INSERT OR REPLACE INTO eventloom_session_state (session, key, value) VALUES (?3, ?4, ?5)',
  addAppState: 'INSERT OR IGNORE INTO eventloom_app_state (app_name, key, value) VALUES (?1, ?4, ?5)',
  addUserState: 'INSERT OR IGNORE INTO eventloom_user_state (app_name, user_id, key, value) VALUES (?1, ?2, ?4, ?5)',
  removeAppState: 'DELETE FROM eventloom_app_state WHERE app_name = ?1 AND key = ?4',
  removeUserState: 'DELETE FROM eventloom_user_state WHERE app_name = ?1 AND user_id = ?2 AND key = ?4',
  removeSessionState: 'DELETE FROM eventloom_session_state WHERE session = ?3 AND key = ?4',
  initialState: "SELECT 'session' AS scope, key, value FROM eventloom_initial_state WHERE session = ?1",
  setInitialState: 'INSERT INTO eventloom_initial_state (session, key, value) VALUES (?1, ?2, ?3)',
  keepInitialState: `
    INSERT INTO eventloom_initial_state (session, key, value)
    SELECT session, key, value FROM eventloom_session_state WHERE session = ?1`,

  /** Selects the events from one sequence number to another, both inclusive. */
  events: `
    SELECT event FROM eventloom_events
    WHERE pk BETWEEN ${eventKey('?1', '?2')} AND ${eventKey('?1', '?3')} ORDER BY pk`,
  /**
   * Counts the events of such a range that together have at most ?4 bytes, from its oldest on, or from its newest back
   * if ?5.
   */
  eventsWithin: `
    SELECT count(*) AS count FROM (
      SELECT sum(${sizeOf('event')}) OVER (ORDER BY iif(?5, -pk, pk)) AS bytes
      FROM eventloom_events WHERE pk BETWEEN ${eventKey('?1', '?2')} AND ${eventKey('?1', '?3')}
    ) WHERE bytes <= ?4`,
  highTimestamp: `SELECT high_timestamp FROM eventloom_events WHERE pk = ${eventKey('?1', '?2')}`,
  /**
   * Selects from such a range the events later than ?4 and not before ?5, and the compactions not before ?5 if ?6; the
   * newest ?7. The range must be in the part of the session in which events have their own timestamps.
   */
  timedEvents: `
    SELECT event FROM eventloom_events WHERE pk IN (
      SELECT pk FROM eventloom_events INDEXED BY eventloom_times
      WHERE session = ?1 AND timestamp >= max(?4, ?5) AND +timestamp > ?4
        AND pk BETWEEN ${eventKey('?1', '?2')} AND ${eventKey('?1', '?3')}
      UNION
      SELECT pk FROM eventloom_events INDEXED BY eventloom_compactions
      WHERE ?6 AND session = ?1 AND compaction_end IS NOT NULL AND timestamp >= ?5
        AND pk BETWEEN ${eventKey('?1', '?2')} AND ${eventKey('?1', '?3')}
      ORDER BY pk DESC LIMIT ?7
    ) ORDER BY pk`,
  compactionEnd: `
    SELECT max(compaction_end) AS compaction_end FROM eventloom_events INDEXED BY eventloom_compactions
    WHERE session = ?1 AND compaction_end IS NOT NULL`,
  /**
   * Selects from such a range the compactions not before ?4; the newest ?5. The range must be in the part of the
   * session whose timestamps never decrease.
   */
  compactions: `
    SELECT event FROM eventloom_events WHERE pk IN (
      SELECT pk FROM eventloom_events INDEXED BY eventloom_compactions
      WHERE session = ?1 AND compaction_end IS NOT NULL AND high_timestamp >= ?4
        AND pk BETWEEN ${eventKey('?1', '?2')} AND ${eventKey('?1', '?3')}
      ORDER BY pk DESC LIMIT ?5
    ) ORDER BY pk`,
  eventById: 'SELECT event FROM eventloom_events WHERE session = ?1 AND event_id = ?2',
  insertEvent: `
    INSERT INTO eventloom_events (${EVENT_COLUMNS}) VALUES (${EVENT_VALUES})`,
  eventId: `SELECT event_id FROM eventloom_events WHERE pk = ${eventKey('?1', '?2')}`,
  /**
   * Inserts an event after the one with the id ?10, or as the first one for null. Writes nothing if the lease is not
   * live, the event's id or sequence number is taken, or the event before is not that one.
   */
  insertEventUnderLease: `
    INSERT INTO eventloom_events (${EVENT_COLUMNS}) SELECT ${EVENT_VALUES}
    FROM eventloom_holds WHERE session = ?1 AND epoch = ?4 AND lease_until > 0
      AND (SELECT event_id FROM eventloom_events WHERE pk = ${eventKey('?1', '(?2 - 1)')}) IS ?10
    ON CONFLICT DO NOTHING`,

  /** Grants the lease of the epoch ?2 until ?3, extended by ?4 from each append, and keeps the open run. */
  setLease: `
    INSERT INTO eventloom_holds (session, epoch, lease_until, lease_ttl) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET epoch = excluded.epoch, lease_until = excluded.lease_until, lease_ttl = excluded.lease_ttl`,
  /**
   * Grants the lease with an open run: ?5 run, ?6 request, ?7 number of the first event, ?8 attempts, ?9 whether it is
   * resumable.
   */
  setHold: `
    INSERT OR REPLACE INTO eventloom_holds (
      session, epoch, lease_until, lease_ttl, open_run, open_request, open_first_seq, open_attempts, open_resumable)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
  renewLease: `UPDATE eventloom_holds SET lease_until = ?5 WHERE ${LIVE_HOLD}`,
  /** Removes a hold with a live lease that has no open run other than ?5. */
  removeHold: `
    DELETE FROM eventloom_holds WHERE ${LIVE_HOLD} AND (open_run IS NULL OR open_run = ?5)
    RETURNING session, open_run, open_request, open_first_seq, ${lastEvent('epoch')} AS last_epoch,
      coalesce(${lastEvent(`pk & ${SEQ_MASK}`)}, 0) AS last_seq`,
  /** Ends a lease at ?2 plus its duration if it ends later than at ?2 plus twice its duration. */
  shortenLease: `
    UPDATE eventloom_holds SET lease_until = ?2 + lease_ttl WHERE session = ?1 AND lease_until > ?2 + 2 * lease_ttl`,
  /** Dates the append of the last event, ?2, to ?3 if it renews the session's lease to a later time than ?3 plus twice its duration. */
  shortenRenewal: `
    UPDATE eventloom_events SET appended_at = ?3
    WHERE pk = ${eventKey('?1', '?2')} AND appended_at > ?3 + (SELECT lease_ttl FROM eventloom_holds WHERE session = ?1)`,
  /** Ends a live lease and keeps the open run, with its attempts reduced by ?5. */
  freeHold: `UPDATE eventloom_holds SET lease_until = 0, open_attempts = open_attempts - ?5 WHERE ${LIVE_HOLD}`,
  setEpoch: 'UPDATE eventloom_sessions SET epoch = ?2 WHERE pk = ?1',
  /** Expiry times of tickets at ?2: the latest of those before the ticket (?3, ?4), and its own. */
  tickets: `
    SELECT max(iif((since, id) < (?3, ?4), expires_at, 0)) AS before_until, max(iif(id = ?4, expires_at, 0)) AS own_until
    FROM eventloom_lease_tickets WHERE session = ?1 AND expires_at > ?2 AND expires_at <= ?2 + ${MAX_TICKET_MS}`,
  leaveTicket: `
    INSERT INTO eventloom_lease_tickets (session, since, id, expires_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at`,
  /** Removes a ticket, and those that have expired at ?3. */
  removeTicket: `
    DELETE FROM eventloom_lease_tickets
    WHERE session = ?1 AND (id = ?2 OR expires_at NOT BETWEEN ?3 AND ?3 + ${MAX_TICKET_MS})`,
  withdrawTicket: `
    DELETE FROM eventloom_lease_tickets
    WHERE session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION}) AND id = ?4`,
  run: `SELECT run.invocation_id, own.first_seq, own.last_seq, own.outcome, own.code ${runOf('?1', '?2')}`,
  /**
   * Records a run: ?2 id, ?3 run, ?4 number of its first event; ?5 last event, ?6 outcome and ?7 code of its end, or
   * null to keep them.
   */
  recordRun: `
    INSERT INTO eventloom_session_runs (session, id, invocation_id, first_seq, last_seq, outcome, code)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT DO UPDATE SET invocation_id = excluded.invocation_id, first_seq = excluded.first_seq,
      last_seq = coalesce(excluded.last_seq, last_seq), outcome = coalesce(excluded.outcome, outcome),
      code = iif(excluded.outcome IS NULL, code, excluded.code)`,
  /** Forgets a run or request. ?5 is its id. */
  forgetRun: `
    DELETE FROM eventloom_session_runs
    WHERE id = ?5 AND session = (SELECT session FROM eventloom_holds WHERE ${LIVE_HOLD})`,
  forgetOpenRun: `
    UPDATE eventloom_holds SET open_first_seq = iif(open_run = ?5, NULL, open_first_seq), open_request = nullif(open_request, ?5)
    WHERE ${LIVE_HOLD}`,
  /** Removes webhooks. ?5 is the id of a run or a webhook. */
  forgetWebhooks: `
    DELETE FROM eventloom_run_webhooks
    WHERE (id = ?5 OR invocation_id = ?5) AND session = (SELECT session FROM eventloom_holds WHERE ${LIVE_HOLD})`,
  /** Lists the open runs of the app after a user's session; at most ?4. */
  openRuns: `
    SELECT user_id, session_id, ${SESSION_COLUMNS}
    FROM eventloom_holds AS hold CROSS JOIN eventloom_sessions AS session ON session.pk = hold.session
    ${LAST_EVENT}
    WHERE app_name = ?1 AND open_run IS NOT NULL AND (user_id, session_id) > (?2, ?3)
    ORDER BY user_id, session_id LIMIT ?4`,
  liveLease: `SELECT 1 FROM eventloom_holds WHERE ${LIVE_HOLD}`,

  replaceWebhook: `
    DELETE FROM eventloom_run_webhooks WHERE id <> ?4 AND invocation_id = ?5 AND url = ?6
      AND session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION})`,
  putWebhook: `
    INSERT INTO eventloom_run_webhooks (id, session, invocation_id, url, attempts, due_at)
    SELECT ?4, session.pk, ?5, ?6, 0, 0 FROM eventloom_sessions AS session
    LEFT JOIN eventloom_holds AS hold ON hold.session = session.pk
    WHERE ${THIS_SESSION} AND (
      (open_run = ?5 AND open_first_seq IS NOT NULL)
      OR EXISTS (SELECT 1 FROM eventloom_session_runs WHERE session = session.pk AND id = ?5 AND invocation_id = ?5))
    ON CONFLICT DO UPDATE SET attempts = 0, due_at = 0`,
  /** Lists webhooks: ?1 app, ?2 user or null for all, ?3 true to include those of open runs; at most ?4. */
  webhooks: `
    SELECT webhook.id, user_id, session_id, invocation_id, url, attempts, due_at
    FROM eventloom_run_webhooks AS webhook CROSS JOIN eventloom_sessions AS session ON session.pk = webhook.session
    LEFT JOIN eventloom_holds AS hold ON hold.session = session.pk
    WHERE app_name = ?1 AND (?2 IS NULL OR user_id = ?2) AND (?3 OR open_run IS NULL OR open_run <> invocation_id)
    ORDER BY due_at, webhook.id LIMIT ?4`,
  /** Changes a webhook if it is unchanged: ?5 and ?6 are its previous values. */
  changeWebhook: `
    UPDATE eventloom_run_webhooks SET attempts = ?7, due_at = ?8 WHERE id = ?4 AND attempts = ?5 AND due_at = ?6
      AND session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION})`,
  removeWebhook: `
    DELETE FROM eventloom_run_webhooks WHERE id = ?4 AND attempts = ?5 AND due_at = ?6
      AND session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION})`,

  recordToolCall: `
    INSERT INTO eventloom_tool_calls (session, invocation_id, call_id, ordinal, name, status, response, actions)
    SELECT session, ?5, ?6,
      (SELECT coalesce(max(ordinal), 0) + 1 FROM eventloom_tool_calls
        WHERE session = eventloom_holds.session AND invocation_id = ?5),
      ?7, ?8, ?9, ?10
    FROM eventloom_holds WHERE ${LIVE_HOLD}
    ON CONFLICT (session, invocation_id, call_id) DO UPDATE
      SET name = excluded.name, status = excluded.status, response = excluded.response, actions = excluded.actions
      WHERE status <> 'finished'`,
  toolCalls: `
    SELECT invocation_id, call_id, name, status, response, actions FROM eventloom_tool_calls
    WHERE session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION}) AND invocation_id = ?4 ORDER BY ordinal`,
  allToolCalls: `
    SELECT invocation_id, call_id, name, status, response, actions FROM eventloom_tool_calls
    WHERE session = ?1 ORDER BY invocation_id, ordinal`,
  insertToolCall: `
    INSERT INTO eventloom_tool_calls (session, invocation_id, call_id, ordinal, name, status, response, actions)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
} as const;

export function prepareStatements(connection: SqlConnection): SqlStatements {
  const prepared: Partial<Record<keyof typeof SQL, SqlStatement>> = {};
  for (const [name, sql] of Object.entries(SQL)) prepared[name as keyof typeof SQL] = connection.prepare(sql);
  return prepared as SqlStatements;
}
