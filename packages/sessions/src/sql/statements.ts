import { SCHEMA_VERSION, SEQ_BITS, SEQ_MASK } from './schema.ts';
import type { SqlConnection, SqlStatement } from './sql-connection.ts';

/** The key of an event, where both are SQL. Bit operators make integers of what is bound as REAL. */
const eventKey = (session: string, seq: string): string => `((${session} << ${SEQ_BITS}) | ${seq})`;
/** The keys of a session's events, where `session` is SQL for the session's key. */
const eventsOf = (session: string): string =>
  `pk > (${session} << ${SEQ_BITS}) AND pk < ((${session} + 1) << ${SEQ_BITS})`;

const THIS_SESSION = 'app_name = ?1 AND user_id = ?2 AND session_id = ?3';
const lastEvent = (column: string, condition = ''): string =>
  `(SELECT ${column} FROM eventloom_events WHERE ${eventsOf('eventloom_sessions.pk')} ${condition} ORDER BY pk DESC LIMIT 1)`;

/** The version of the tables, which a newer program may have raised since this one started. */
const VERSION = "(SELECT value FROM eventloom_meta WHERE key = 'sessions.schema')";

/** Sessions, each with its last event. */
const FROM_SESSIONS = `
  FROM eventloom_sessions AS session
  LEFT JOIN eventloom_events AS last
    ON last.pk = (SELECT max(pk) FROM eventloom_events WHERE ${eventsOf('session.pk')})`;
const FREE_AT =
  'max(session.lease_until, iif(last.pk > session.lease_after, session.lease_ttl + last.appended_at, 0)) AS free_at';

/** A session with what its last event says. */
const SESSION = `
  SELECT session.pk, session.user_id, session.session_id, session.epoch, session.lease_until, session.listed_at, ${FREE_AT},
    session.open_run, session.open_attempts, session.open_resumable,
    coalesce(last.pk & ${SEQ_MASK}, 0) AS last_seq,
    last.high_timestamp,
    coalesce(last.appended_at, session.created_at) AS updated_at,
    ${VERSION} AS version
  ${FROM_SESSIONS}`;

/** The time of the session that is ?3 places behind the first one that the index has at or before ?2. ?1 app, ?4 user. */
const boundary = (condition: string): string => `
  SELECT listed_at FROM eventloom_sessions WHERE app_name = ?1 ${condition} AND listed_at <= ?2
  ORDER BY listed_at DESC LIMIT 1 OFFSET ?3`;

/** A page of a listing: ?1 app, ?2 where the index begins, ?3 update time, ?4 session and ?5 user of the last one before, ?6 limit, ?7 user. */
const page = (condition: string): string => `
  SELECT * FROM (${SESSION} WHERE app_name = ?1 ${condition} AND listed_at > ?2 AND listed_at <= ?3)
  WHERE updated_at < ?3 OR (updated_at = ?3 AND (session_id, user_id) > (?4, ?5))
  ORDER BY updated_at DESC, session_id, user_id LIMIT ?6`;

/** About how many bytes the JSON of a column has, here or elsewhere. Of a long one only the header of its row is read. */
const sizeOf = (column: string): string =>
  `iif(octet_length(${column}) < 64 AND ${column} GLOB '@*', CAST(substr(${column}, 2) AS INTEGER), octet_length(${column}))`;
/** Approximate size of a key of state that is read, without its name and its value, in bytes. */
const KEY_BYTES = 100;
const STATE_SIZE = `octet_length(key) + ${KEY_BYTES} + ${sizeOf('value')} AS size`;

/** A row of SESSION. */
export interface SessionRow {
  readonly pk: number;
  readonly user_id: string;
  readonly session_id: string;
  readonly epoch: number;
  readonly lease_until: number;
  /** A time of the last update or shortly before it. */
  readonly listed_at: number;
  /** Time at which a live lease expires. */
  readonly free_at: number;
  readonly open_run: string | null;
  readonly open_attempts: number;
  readonly open_resumable: number;
  readonly last_seq: number;
  readonly high_timestamp: number | null;
  readonly updated_at: number;
  /** Of the tables. */
  readonly version: number;
}

/** Every statement of the driver, prepared once. */
export type SqlStatements = Readonly<Record<keyof typeof SQL, SqlStatement>>;

const SQL = {
  insertSession: `
    INSERT INTO eventloom_sessions (app_name, user_id, session_id, created_at, listed_at, epoch)
    SELECT ?1, ?2, ?3, ?4, ?4, value FROM eventloom_meta WHERE key = 'sessions.epoch' AND ${VERSION} = ${SCHEMA_VERSION}
    ON CONFLICT DO NOTHING RETURNING pk`,
  version: `SELECT ${VERSION} AS version`,
  session: `${SESSION} WHERE ${THIS_SESSION}`,
  sessionsOfApp: page(''),
  sessionsOfUser: page('AND user_id = ?7'),
  boundaryOfApp: boundary(''),
  boundaryOfUser: boundary('AND user_id = ?4'),
  setListedAt: 'UPDATE eventloom_sessions SET listed_at = ?2 WHERE pk = ?1',
  deleteSession: 'DELETE FROM eventloom_sessions WHERE pk = ?1',
  deleteEvents: `DELETE FROM eventloom_events WHERE ${eventsOf('?1')}`,
  deleteState: 'DELETE FROM eventloom_session_state WHERE session = ?1',
  deleteInitialState: 'DELETE FROM eventloom_initial_state WHERE session = ?1',
  deleteTickets: 'DELETE FROM eventloom_lease_tickets WHERE session = ?1',
  deleteRuns: 'DELETE FROM eventloom_session_runs WHERE session = ?1',
  deleteWebhooks: 'DELETE FROM eventloom_run_webhooks WHERE session = ?1',
  deleteToolCalls: 'DELETE FROM eventloom_tool_calls WHERE session = ?1',
  raiseEpoch: "UPDATE eventloom_meta SET value = max(value, ?1) WHERE key = 'sessions.epoch'",

  state: `
    SELECT 'app' AS scope, key, value FROM eventloom_app_state WHERE app_name = ?1
    UNION ALL SELECT 'user', key, value FROM eventloom_user_state WHERE app_name = ?1 AND user_id = ?2
    UNION ALL SELECT 'session', key, value FROM eventloom_session_state WHERE session = ?3`,
  /** The size of one scope's, ?4. */
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

  /** From one sequence number to another, both inclusive. */
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
   * Of such a range, the events that are later than ?4 and not before ?5, and the compactions not before ?5 if ?6; the newest ?7. All
   * in the part of the session in which events have their own timestamp.
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
  /** Of such a range, the compactions not before ?4; the newest ?5. All in the part of the session that is in order of time. */
  compactions: `
    SELECT event FROM eventloom_events WHERE pk IN (
      SELECT pk FROM eventloom_events INDEXED BY eventloom_compactions
      WHERE session = ?1 AND compaction_end IS NOT NULL AND high_timestamp >= ?4
        AND pk BETWEEN ${eventKey('?1', '?2')} AND ${eventKey('?1', '?3')}
      ORDER BY pk DESC LIMIT ?5
    ) ORDER BY pk`,
  eventById: 'SELECT event FROM eventloom_events WHERE session = ?1 AND event_id = ?2',
  insertEvent: `
    INSERT INTO eventloom_events (pk, session, event_id, high_timestamp, timestamp, appended_at, event, compaction_end)
    VALUES (${eventKey('?1', '?2')}, ?1, ?3, ?4, ?5, ?6, ?7, ?8)`,
  /** Writes nothing when the lease is not live, or the event's id or sequence number is taken. */
  insertEventUnderLease: `
    INSERT INTO eventloom_events (pk, session, event_id, high_timestamp, timestamp, appended_at, event, compaction_end)
    SELECT ${eventKey('?1', '?2')}, ?1, ?3, ?4, ?5, ?6, ?7, ?8
    FROM eventloom_sessions WHERE pk = ?1 AND epoch = ?9 AND lease_until > 0
    ON CONFLICT DO NOTHING`,

  /** ?4 now, ?5 how long, ?6 whether from an owner, too; ?7 the run that is open then, or null, and ?8 whether it is resumable; the place
   * in the line: ?9 since, ?10 id. */
  claimLease: `
    UPDATE eventloom_sessions SET epoch = epoch + 1, lease_until = ?4 + ?5, lease_ttl = ?5,
      lease_after = coalesce(${lastEvent('pk')}, 0),
      open_run = coalesce(?7, open_run),
      open_attempts = CASE WHEN ?7 IS NULL THEN open_attempts ELSE iif(open_run = ?7, open_attempts, 0) + 1 END,
      open_resumable = CASE WHEN ?7 IS NULL THEN open_resumable ELSE ?8 END
    WHERE ${THIS_SESSION} AND ${VERSION} = ${SCHEMA_VERSION} AND (?6 OR (
      (lease_until = 0
        OR max(lease_until, coalesce(${lastEvent('lease_ttl + appended_at', 'AND pk > lease_after')}, 0)) <= ?4)
      AND NOT EXISTS (
        SELECT 1 FROM eventloom_lease_tickets
        WHERE session = eventloom_sessions.pk AND expires_at > ?4 AND (since, id) < (?9, ?10))))
    RETURNING pk, epoch, listed_at, ${lastEvent(`pk & ${SEQ_MASK}`)} AS last_seq, ${lastEvent('high_timestamp')} AS high_timestamp`,
  renewLease: `
    UPDATE eventloom_sessions SET lease_until = ?5 WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0`,
  endLease: `UPDATE eventloom_sessions SET lease_until = 0 WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0`,
  /** Ends the lease like `endLease`, with the open run ?5. */
  endRun: `
    UPDATE eventloom_sessions SET lease_until = 0, open_run = nullif(open_run, ?5)
    WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0`,
  /** Ends the lease like `endLease`, with one attempt less at the open run ?5. */
  leaveRun: `
    UPDATE eventloom_sessions SET lease_until = 0, open_attempts = open_attempts - (open_run IS ?5)
    WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0`,
  /** Until when tickets hold at ?2: those before ?3, ?4, and that one. */
  tickets: `
    SELECT max(iif((since, id) < (?3, ?4), expires_at, 0)) AS before_until, max(iif(id = ?4, expires_at, 0)) AS own_until
    FROM eventloom_lease_tickets WHERE session = ?1 AND expires_at > ?2`,
  leaveTicket: `
    INSERT INTO eventloom_lease_tickets (session, since, id, expires_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at`,
  /** Removes that ticket, and those that expired at ?3. */
  removeTicket: 'DELETE FROM eventloom_lease_tickets WHERE session = ?1 AND (id = ?2 OR expires_at <= ?3)',
  withdrawTicket: `
    DELETE FROM eventloom_lease_tickets
    WHERE session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION}) AND id = ?4`,
  /** The run or the request ?2, whose run is not forgotten. */
  run: `
    SELECT run.invocation_id, own.first_seq, own.last_seq, own.outcome, own.code FROM eventloom_session_runs AS run
    JOIN eventloom_session_runs AS own ON own.session = run.session AND own.id = run.invocation_id
    WHERE run.session = ?1 AND run.id = ?2`,
  /** ?2 id, ?3 run, ?4 the number of its first event unless it is recorded already. */
  recordRun: `
    INSERT INTO eventloom_session_runs (session, id, invocation_id, first_seq)
    VALUES (?1, ?2, ?3, coalesce((SELECT first_seq FROM eventloom_session_runs WHERE session = ?1 AND id = ?3), ?4))
    ON CONFLICT DO UPDATE SET invocation_id = excluded.invocation_id, first_seq = excluded.first_seq RETURNING first_seq`,
  /** Records the end of the run ?5: ?6 outcome, ?7 code. */
  recordEnd: `
    UPDATE eventloom_session_runs SET outcome = ?6, code = ?7, last_seq = coalesce(
      (SELECT pk & ${SEQ_MASK} FROM eventloom_events WHERE ${eventsOf('eventloom_session_runs.session')} ORDER BY pk DESC LIMIT 1), 0)
    WHERE id = ?5 AND session =
      (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0)`,
  /** ?5 is the id. */
  forgetRun: `
    DELETE FROM eventloom_session_runs WHERE id = ?5 AND session =
      (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0)`,
  /** The app's, after that user's session; at most ?4. */
  openRuns: `
    SELECT session.user_id, session.session_id, session.open_run, session.open_attempts, session.open_resumable,
      session.lease_until, ${FREE_AT}
    ${FROM_SESSIONS.replace('AS session', 'AS session INDEXED BY eventloom_open_runs')}
    WHERE app_name = ?1 AND open_run IS NOT NULL AND (user_id, session_id) > (?2, ?3)
    ORDER BY user_id, session_id LIMIT ?4`,
  liveLease: `SELECT 1 FROM eventloom_sessions WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0`,

  replaceWebhook: `
    DELETE FROM eventloom_run_webhooks WHERE id <> ?4 AND invocation_id = ?5 AND url = ?6
      AND session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION})`,
  putWebhook: `
    INSERT INTO eventloom_run_webhooks (id, session, invocation_id, url, attempts, due_at)
    SELECT ?4, session.pk, ?5, ?6, 0, 0 FROM eventloom_sessions AS session
    JOIN eventloom_session_runs AS run ON run.session = session.pk AND run.id = ?5 AND run.invocation_id = ?5
    WHERE ${THIS_SESSION}
    ON CONFLICT DO UPDATE SET attempts = 0, due_at = 0`,
  /** Those of ?1 app, of ?2 user or of all; also those of open runs if ?3; at most ?4. */
  webhooks: `
    SELECT webhook.id, user_id, session_id, invocation_id, url, attempts, due_at
    FROM eventloom_run_webhooks AS webhook CROSS JOIN eventloom_sessions AS session ON session.pk = webhook.session
    WHERE app_name = ?1 AND (?2 IS NULL OR user_id = ?2) AND (?3 OR open_run IS NULL OR open_run <> invocation_id)
    ORDER BY due_at, webhook.id LIMIT ?4`,
  /** ?5 and ?6 are how it was. */
  changeWebhook: `
    UPDATE eventloom_run_webhooks SET attempts = ?7, due_at = ?8 WHERE id = ?4 AND attempts = ?5 AND due_at = ?6
      AND session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION})`,
  removeWebhook: `
    DELETE FROM eventloom_run_webhooks WHERE id = ?4 AND attempts = ?5 AND due_at = ?6
      AND session = (SELECT pk FROM eventloom_sessions WHERE ${THIS_SESSION})`,

  recordToolCall: `
    INSERT INTO eventloom_tool_calls (session, invocation_id, call_id, ordinal, name, status, response, actions)
    SELECT pk, ?5, ?6,
      (SELECT coalesce(max(ordinal), 0) + 1 FROM eventloom_tool_calls WHERE session = pk AND invocation_id = ?5),
      ?7, ?8, ?9, ?10
    FROM eventloom_sessions WHERE ${THIS_SESSION} AND epoch = ?4 AND lease_until > 0
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
