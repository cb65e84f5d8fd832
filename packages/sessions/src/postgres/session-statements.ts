import { isCurrentSql } from './schema-version.ts';
import { THIS_SESSION } from './session-sql.ts';
import { addEntries, sweepRemoved, writeEntries } from './state-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import type { Tables } from './tables.ts';

/** The `pk` of a new session, and the previous value of a state key of its app or user; null if there is none. */
export interface CreatedRow {
  readonly pk: string;
  readonly kind: 'app' | 'user';
  readonly key: string | null;
  readonly value: string;
}

/** The statements that create and delete sessions. */
export type SessionStatements = ReturnType<typeof sessionStatements>;

export function sessionStatements(tables: Tables) {
  const { sessions, events, state, initialState, toolCalls, tickets, runs, webhooks } = tables;
  const current = isCurrentSql(tables);
  const initial = (from: string): string => `INSERT INTO ${initialState} (session, key, value) ${from}`;
  return {
    /**
     * Creates a session. $1 app, $2 user, $3 session, $4 now, $5 to $7 scopes, keys and values of state. Returns no row
     * if the key is taken.
     */
    create: toStatement(`
      WITH made AS (
        INSERT INTO ${sessions} (app_name, user_id, session_id, created_at, listed_at)
        SELECT $1, $2, $3, $4::double precision, $4 WHERE ${current}
        ON CONFLICT DO NOTHING RETURNING pk
      ), ${writeEntries(tables, 'made', 5, false)}, kept AS (
        ${initial('SELECT session, key, value FROM entries WHERE session <> 0')}
      )
      SELECT pk::text AS pk, CASE stored.user_id WHEN '' THEN 'app' ELSE 'user' END AS kind, key, value
      FROM made LEFT JOIN ${state} AS stored
        ON stored.session = 0 AND stored.app_name = $1 AND stored.user_id IN ('', $2) AND NOT removed`),

    /** Inserts a session without state. $1 to $4 as above. */
    insertSession: toStatement(`
      INSERT INTO ${sessions} (app_name, user_id, session_id, created_at, listed_at)
      SELECT $1, $2, $3, $4::double precision, $4 WHERE ${current} ON CONFLICT DO NOTHING RETURNING pk::text AS pk`),
    addState: toStatement(addEntries(tables)),
    /** Adds the initial state. $1 is the session's `pk`, here and below; the other parameters are lists. */
    addInitialState: toStatement(
      initial('SELECT $1::bigint, key, value FROM unnest($2::text[], $3::text[]) AS entry (key, value)'),
    ),
    addEvents: toStatement(`
      INSERT INTO ${events} (session, appended_at, seq, event_id, timestamp, high_timestamp, compaction_end, compacted_until, event)
      SELECT $1::bigint, $2::double precision, * FROM unnest($3::bigint[], $4::text[], $5::double precision[],
        $6::double precision[], $7::double precision[], $8::double precision[], $9::text[])`),
    addRuns: toStatement(`
      INSERT INTO ${runs} (session, id, invocation_id, first_seq)
      SELECT $1::bigint, * FROM unnest($2::text[], $3::text[], $4::bigint[])`),
    addToolCalls: toStatement(`
      INSERT INTO ${toolCalls} (session, invocation_id, call_id, name, status, response, actions)
      SELECT $1::bigint, invocation_id, call_id, name, status, response, actions
      FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
        WITH ORDINALITY AS call (invocation_id, call_id, name, status, response, actions, place)
      ORDER BY place`),

    /**
     * Writes a row that does not belong to a session, to test that writes are accepted. On a full disk the row may still have room, so the
     * statement first counts `$1` numbers: 4,000 do not fit into a `work_mem` of 64 kB, and PostgreSQL writes a temporary file of 56 kB.
     */
    probe: toStatement(`
      WITH room AS (
        SELECT count(*) AS numbers
        FROM (SELECT set_config('work_mem', '64kB', true) AS memory) AS setting,
          LATERAL generate_series(1, $1::int + 0 * length(memory)))
      INSERT INTO ${toolCalls} (session, invocation_id, call_id, name, status)
      SELECT 0, '', '', '', '' FROM room WHERE numbers >= 0 AND ${current}
      ON CONFLICT (session, invocation_id, call_id) DO UPDATE SET status = excluded.status RETURNING 1`),

    /** Deletes a session. $1 app, $2 user, $3 session, $4 its `pk`. */
    removeSession: toStatement(`
      WITH one AS (DELETE FROM ${events} WHERE session = $4),
        two AS (DELETE FROM ${state} WHERE session = $4),
        three AS (DELETE FROM ${initialState} WHERE session = $4),
        four AS (DELETE FROM ${toolCalls} WHERE session = $4),
        five AS (DELETE FROM ${tickets} WHERE ${THIS_SESSION}),
        six AS (DELETE FROM ${runs} WHERE session = $4),
        seven AS (DELETE FROM ${webhooks} WHERE session = $4),
        gone AS (DELETE FROM ${sessions} WHERE ${THIS_SESSION} RETURNING 1),
        ${sweepRemoved(tables, '(SELECT count(*) FROM gone) >= 0')}
      SELECT`),
  } satisfies Readonly<Record<string, Statement>>;
}
