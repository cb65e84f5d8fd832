import { joinLastEvent, LAG_MS, THIS_SESSION } from './session-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import type { Tables } from './tables.ts';

/**
 * A row of a read. A session is read with its state, its events and its tool calls in one statement, and therefore as
 * of one moment. The set columns depend on the kind. A tool call has its status as its kind, and a separate row for its
 * changes.
 */
export interface StoredRow {
  readonly kind:
    | 'claim'
    | 'session'
    | 'app'
    | 'user'
    | 'own'
    | 'initial'
    | 'event'
    | 'started'
    | 'finished'
    | 'actions';
  /** The session's `pk`, or the invocation of a tool call. */
  readonly owner: string | null;
  /** The user's id, or the name of a tool. */
  readonly name: string | null;
  /** A session's id, a state key, or the id of a tool call. */
  readonly key: string | null;
  /** The value as JSON. */
  readonly value: string | null;
  /** The position of the row among those of its kind. */
  readonly place: unknown;
  readonly last_seq: unknown;
  readonly updated_at: unknown;
}

/** Selects the sessions to read, which a WITH calls `found`: one session, or a page of a listing. $1 is their app. */
export const FOUND = `
  SELECT 'session' AS kind, pk::text AS owner, user_id AS name, session_id AS key, NULL AS value,
    place, last_seq, updated_at
  FROM found`;

/** The value of the last session of a page that was shortened because its state is large. */
export const CUT = 'cut';

const FOUND_IN_PAGE = FOUND.replace('NULL AS value', `CASE WHEN is_cut THEN '${CUT}' END AS value`);

/** Columns of a session that come from its last event. */
const LAST = 'coalesce(last.seq, 0) AS last_seq, coalesce(last.appended_at, created_at) AS updated_at';

const one = (tables: Tables): string => `found AS (
    SELECT pk, user_id, session_id, ${LAST}, last.compacted_until AS compaction_end, 1::bigint AS place
    FROM ${tables.sessions} AS session ${joinLastEvent(tables)} WHERE ${THIS_SESSION}
  )`;

/**
 * The keys of the session `pk`. OFFSET 0 prevents the planner, which does not know that a page has few sessions, from
 * reading all state.
 */
const keysOf = ({ state }: Tables): string =>
  `SELECT key, value FROM ${state} AS stored WHERE session = pk AND app_name = '' AND stored.user_id = '' OFFSET 0`;

/** Selects the state of the sessions in `found`. */
export const stateOf = (tables: Tables): string => `
  ${sharedState(tables)}
  UNION ALL
  SELECT 'own', pk::text, NULL, key, value, NULL, NULL, NULL FROM found CROSS JOIN LATERAL (${keysOf(tables)}) AS own`;

/** Selects the state of the sessions of a page, whose own keys it has read. */
const stateOfPage = (tables: Tables): string => `
  ${sharedState(tables)}
  UNION ALL
  SELECT 'own', pk::text, NULL, key, value, NULL, NULL, NULL FROM found JOIN own USING (pk)`;

const sharedState = ({ state }: Tables): string => `
  SELECT 'app', NULL, NULL, key, value, NULL, NULL, NULL FROM ${state}
  WHERE session = 0 AND app_name = $1 AND user_id = '' AND NOT removed AND EXISTS (SELECT FROM found)
  UNION ALL
  SELECT 'user', NULL, owner.user_id, key, value, NULL, NULL, NULL
  FROM (SELECT DISTINCT user_id FROM found) AS owner CROSS JOIN LATERAL (
    SELECT key, value FROM ${state} AS stored
    WHERE session = 0 AND app_name = $1 AND stored.user_id = owner.user_id AND NOT removed OFFSET 0
  ) AS shared`;

/**
 * Events of `found`. `first` is the number of the first of three parameters: the sequence numbers after and before
 * which the events lie, and the maximum number of events, of which the newest are selected.
 */
export const plainWindow = ({ events }: Tables, first: number): string => `
  SELECT 'event', NULL, NULL, NULL, event, seq, NULL, NULL
  FROM found CROSS JOIN LATERAL (
    SELECT seq, event FROM ${events}
    WHERE session = pk AND seq > $${first} AND seq < $${first + 1} ORDER BY seq DESC LIMIT $${first + 2}::bigint
  ) AS stored`;

/**
 * Selects events as `plainWindow` does, with two more parameters: the time from which on events are selected, or null,
 * and true for the effective events since the last compaction only. `bounds` narrows the range of the first event from
 * which on a timestamp can be late enough: `low` is before that event, `high` is not. OFFSET 0 makes each step one
 * look-up in the index, even if the planner expects a small table and would read all of it.
 */
export const narrowedWindow = (
  { events }: Tables,
  first: number,
): { readonly bounds: string; readonly events: string } => {
  const [after, before, limit, since, uncovered] = [0, 1, 2, 3, 4].map((offset) => `$${first + offset}`);
  const newest = (condition: string): string => `(
    SELECT seq, event FROM ${events} AS stored
    WHERE session = pk AND seq > ${after} AND seq < ${before} AND (${since}::double precision IS NULL OR timestamp >= ${since})
      AND ${condition}
    ORDER BY seq DESC LIMIT ${limit}::bigint)`;
  return {
    bounds: `covered AS (
        SELECT pk, last_seq, CASE WHEN ${uncovered}::boolean THEN compaction_end END AS until FROM found
      ), bounds (low, high) AS (
        SELECT 0::bigint, last_seq + 1 FROM covered
        UNION ALL
        SELECT CASE WHEN late THEN low ELSE middle END, CASE WHEN late THEN middle ELSE high END
        FROM (SELECT low, high, (low + high) / 2 AS middle FROM bounds WHERE high - low > 1) AS search
        CROSS JOIN covered
        CROSS JOIN LATERAL (
          SELECT (${since}::double precision IS NULL OR high_timestamp >= ${since}) AND (until IS NULL OR high_timestamp > until) AS late
          FROM ${events} WHERE session = pk AND seq = middle OFFSET 0
        ) AS event
      ), start AS (
        SELECT pk, until, high AS seq FROM covered CROSS JOIN bounds WHERE high - low = 1
      )`,
    events: `
      SELECT 'event', NULL, NULL, NULL, event, counted.seq, NULL, NULL
      FROM start CROSS JOIN LATERAL (
        SELECT seq, event FROM (
          ${newest('stored.seq >= start.seq AND (until IS NULL OR timestamp > until OR compaction_end IS NOT NULL)')}
          UNION ALL
          ${newest('stored.seq < start.seq AND until IS NOT NULL AND compaction_end IS NOT NULL')}
        ) AS either ORDER BY seq DESC LIMIT ${limit}::bigint
      ) AS counted`,
  };
};

/**
 * The events between the numbers $4 and $5, at most $6 of the newest, with the size of each and of all before it, in
 * bytes. `order` says which come first. Reads the lengths of the events and not their texts.
 */
const sizedEvents = ({ events }: Tables, order: 'ASC' | 'DESC'): string => `(
    SELECT seq, event, octet_length(event) AS size, sum(octet_length(event)) OVER (ORDER BY seq ${order}) AS bytes FROM (
      SELECT seq, event FROM ${events}
      WHERE session = pk AND seq > $4 AND seq < $5 ORDER BY seq DESC LIMIT $6::bigint
    ) AS selected
  ) AS sized`;

/** The first of the events of `found` that have together at most $7 bytes, and at least one. */
const eventPage = (tables: Tables, order: 'ASC' | 'DESC'): string => `
  SELECT 'event', NULL, NULL, NULL, event, seq, NULL, NULL
  FROM found CROSS JOIN LATERAL ${sizedEvents(tables, order)} WHERE bytes <= $7 OR bytes = size`;

const countWithin = (tables: Tables, order: 'ASC' | 'DESC'): string => `
  SELECT count(*) AS count FROM ${tables.sessions} CROSS JOIN LATERAL ${sizedEvents(tables, order)}
  WHERE ${THIS_SESSION} AND bytes <= $7`;

/** The maximum lag, plus more than the rounding error of adding and subtracting such times. */
const LAG = `${LAG_MS + 1}`;

/**
 * A page of sessions: at most $5 sessions after the time $2, the session $3 and the user $4, whose own state has
 * together at most $6 bytes, but at least one. The times in the index lag behind. `behind` is the session one page
 * later by the index alone: no session that is older by more than the lag can be in the page. The others are sorted by
 * their last events.
 */
const page = (tables: Tables, ofUser: string): string => `
  WITH behind AS (
    SELECT listed_at FROM ${tables.sessions}
    WHERE app_name = $1 ${ofUser} AND listed_at <= $2::double precision - ${LAG}
    ORDER BY listed_at DESC LIMIT 1 OFFSET $5::bigint - 1
  ), listed AS (
    SELECT *, row_number() OVER (ORDER BY -updated_at, session_id, user_id) AS place FROM (
      SELECT * FROM (
        SELECT pk, user_id, session_id, ${LAST} FROM ${tables.sessions} AS session ${joinLastEvent(tables)}
        WHERE app_name = $1 ${ofUser} AND listed_at <= $2
          AND listed_at > coalesce((SELECT listed_at - ${LAG} FROM behind), '-Infinity')
      ) AS candidate
      WHERE (-updated_at, session_id, user_id) > (-$2, $3::text, $4::text)
      ORDER BY -updated_at, session_id, user_id LIMIT $5
    ) AS page
  ), own AS MATERIALIZED (
    SELECT pk, key, value FROM listed CROSS JOIN LATERAL (${keysOf(tables)}) AS keys
  ), sized AS (
    SELECT listed.*, sum(coalesce(size.bytes, 0)) OVER (ORDER BY place) AS bytes
    FROM listed LEFT JOIN (SELECT pk, sum(octet_length(value)) AS bytes FROM own GROUP BY pk) AS size USING (pk)
  ), found AS (
    SELECT * FROM (SELECT *, lead(bytes) OVER (ORDER BY place) > $6 AS is_cut FROM sized) AS summed
    WHERE place = 1 OR bytes <= $6
  )`;

export const union = (...parts: readonly string[]): string => parts.join(' UNION ALL ');

/** The statements that only read. */
export type ReadStatements = ReturnType<typeof readStatements>;

export function readStatements(tables: Tables) {
  const found = one(tables);
  const state = stateOf(tables);
  const plain = plainWindow(tables, 4);
  const narrowed = narrowedWindow(tables, 4);
  const beginning = `WITH RECURSIVE ${found}, ${narrowed.bounds}`;
  const call = 'SELECT status, invocation_id, name, call_id, response, ordinal, NULL, NULL';
  const actions = `SELECT 'actions', invocation_id, NULL, call_id, actions, NULL, NULL, NULL`;
  return {
    session: toStatement(`WITH ${found} ${union(FOUND, state, plain)}`),
    narrowedSession: toStatement(`${beginning} ${union(FOUND, state, narrowed.events)}`),
    oldestEvents: toStatement(`WITH ${found} ${union(FOUND, eventPage(tables, 'ASC'))}`),
    newestEvents: toStatement(`WITH ${found} ${union(FOUND, eventPage(tables, 'DESC'))}`),
    narrowedEvents: toStatement(`${beginning} ${union(FOUND, narrowed.events)}`),
    newestWithin: toStatement(countWithin(tables, 'DESC')),
    oldestWithin: toStatement(countWithin(tables, 'ASC')),
    sessionsOfApp: toStatement(`${page(tables, '')} ${union(FOUND_IN_PAGE, stateOfPage(tables))}`),
    /** The sessions of a user. $7 is the user. */
    sessionsOfUser: toStatement(`${page(tables, 'AND user_id = $7')} ${union(FOUND_IN_PAGE, stateOfPage(tables))}`),
    background: toStatement(
      `WITH ${found} ${union(
        FOUND,
        state,
        `SELECT 'initial', NULL, NULL, key, value, NULL, NULL, NULL FROM found JOIN ${tables.initialState} ON session = pk`,
        `${call} FROM found JOIN ${tables.toolCalls} ON session = pk`,
        `${actions} FROM found JOIN ${tables.toolCalls} ON session = pk WHERE actions IS NOT NULL`,
      )}`,
    ),
    /** The tool calls of an invocation. $4 is the invocation. */
    toolCalls: toStatement(`
      WITH call AS (
        SELECT call.* FROM ${tables.sessions} JOIN ${tables.toolCalls} AS call ON call.session = pk AND invocation_id = $4
        WHERE ${THIS_SESSION}
      )
      SELECT status AS kind, invocation_id AS owner, name, call_id AS key, response AS value, ordinal AS place FROM call
      UNION ALL
      SELECT 'actions', invocation_id, NULL, call_id, actions, NULL FROM call WHERE actions IS NOT NULL`),
  } satisfies Readonly<Record<string, Statement>>;
}
