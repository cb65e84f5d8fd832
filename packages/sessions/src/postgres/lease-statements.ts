import { isCurrentSql, versionSql } from './schema-version.ts';
import { HELD_UNTIL, joinLastEvent, releaseSql, THIS_SESSION } from './session-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import { quoteText, type Tables } from './tables.ts';
import type { PositionRow } from './writer-positions.ts';

/** $4 is the epoch. */
const UNDER_LEASE = `${THIS_SESSION} AND epoch = $4 AND lease_until > 0`;

/** What came of a claim, and where the session's last event is. Without a session the rest is null. */
export interface ClaimRow extends PositionRow {
  readonly version: unknown;
  readonly pk: string | null;
  /** The new one, or null. */
  readonly epoch: unknown;
  /** Until when the session was held as the claim began. */
  readonly held_until: unknown;
  /** When the last of the tickets runs out that are before this claim; null without any. */
  readonly awaited_until: unknown;
}

/** An open run. */
export interface OpenRunRow {
  readonly user_id: string;
  readonly session_id: string;
  readonly open_run: string;
  readonly attempts: number;
  readonly held_until: unknown;
}

/** The statements about leases. All begin with $1 app, $2 user, $3 session; what finds no row did nothing. */
export type LeaseStatements = ReturnType<typeof leaseStatements>;

export function leaseStatements(tables: Tables) {
  const { sessions, toolCalls, epochs } = tables;
  const current = isCurrentSql(tables);
  return {
    claim: claimStatement(tables),

    /**
     * Refuses a claim that has a ticket ($5 id, $6 since when, $7 until when) again, at $4 now: gives until when the session is held or
     * awaited. Only reads. No row when the claim may succeed, or when its ticket has to be written again.
     */
    refuseAgain: toStatement(`
      WITH target AS (${claimTarget(tables, 5)})
      SELECT greatest(held_until, awaited_until) AS free_at FROM target
      WHERE greatest(held_until, awaited_until) > $4 AND ${current} AND EXISTS (${freshTicket(tables, 5)})`),

    /** $4 is the ticket's id. */
    withdrawTicket: toStatement(`DELETE FROM ${tables.tickets} WHERE ${THIS_SESSION} AND id = $4`),

    /** $5 until when. */
    renew: toStatement(`UPDATE ${sessions} SET lease_until = $5 WHERE ${UNDER_LEASE} AND ${current} RETURNING 1`),

    /** $5 is the run of the lease, or null; $6 whether it is left open, $7 whether that costs no attempt. */
    release: toStatement(`
      UPDATE ${sessions} SET ${releaseSql(5)} WHERE ${UNDER_LEASE}`),

    /** A page: $1 app, what comes after $2 user and $3 session, $4 runs. */
    openRuns: toStatement(`
      SELECT user_id, session_id, open_run, attempts, ${HELD_UNTIL} AS held_until
      FROM ${sessions} AS session ${joinLastEvent(tables)}
      WHERE app_name = $1 AND open_run IS NOT NULL AND (user_id, session_id) > ($2::text, $3::text)
      ORDER BY user_id, session_id LIMIT $4::bigint`),

    /** $5 invocation, $6 call, $7 name, $8 status, $9 response, $10 actions. The lock keeps the lease live until the call is written. */
    recordToolCall: toStatement(`
      WITH held AS (SELECT pk FROM ${sessions} WHERE ${UNDER_LEASE} AND ${current} FOR NO KEY UPDATE), recorded AS (
        INSERT INTO ${toolCalls} AS earlier (session, invocation_id, call_id, name, status, response, actions)
        SELECT pk, $5, $6, $7, $8, $9, $10 FROM held
        ON CONFLICT (session, invocation_id, call_id) DO UPDATE
          SET name = excluded.name, status = excluded.status, response = excluded.response, actions = excluded.actions
          WHERE earlier.status <> 'finished'
      )
      SELECT 1 FROM held`),
  } satisfies Readonly<Record<string, Statement>>;

  /**
   * $4 now, $5 how long, $6 whether to take it from an owner, $7 the run or null, $8 whether it can be resumed, $9 to $11 a ticket: id,
   * since when, until when, or null. One sequence counts for all: no epoch ever comes back.
   *
   * A ticket of which half the time is left is not written again: most claims of one who waits write nothing.
   *
   * Whether a lease has expired is said by the last event, which a claim that waited for an append would not see: a lease that is
   * over by its time is taken only under the session's lock, when $12 says so. What is in the row it always sees as it is.
   */
  function claimStatement(tables: Tables): Statement {
    return toStatement(`
      WITH target AS (${claimTarget(tables, 9)}
      ), claimed AS (
        UPDATE ${sessions} SET epoch = nextval(${quoteText(epochs)}), ${LEASE_OF_CLAIM}
        WHERE ${THIS_SESSION} AND ${current} AND ($6::boolean
          OR (lease_until = 0 OR $12::boolean AND (SELECT held_until FROM target) <= $4)
            AND (SELECT awaited_until FROM target) IS NULL)
        RETURNING epoch
      ), ${ticketsOfClaim(tables, 'claimed')}
      SELECT version, pk, held_until, awaited_until, seq, high_timestamp, compacted_until, (SELECT epoch FROM claimed) AS epoch
      FROM (SELECT ${versionSql(tables)} AS version) AS tables LEFT JOIN target ON true`);
  }
}

/** The session of a claim at $4 now, with its last event. `ticket` is the number of the first of two parameters: id and since when, or null. */
export function claimTarget(tables: Tables, ticket: number): string {
  return `
    SELECT session.pk, session.user_id, session.session_id, ${HELD_UNTIL} AS held_until, coalesce(last.seq, 0) AS seq,
      last.high_timestamp, last.compacted_until, coalesce(last.appended_at, created_at) AS updated_at, (
        SELECT max(expires_at) FROM ${tables.tickets}
        WHERE ${THIS_SESSION} AND expires_at > $4
          AND ($${ticket}::text IS NULL OR (since, id) < ($${ticket + 1}::double precision, $${ticket}))
      ) AS awaited_until
    FROM ${tables.sessions} AS session ${joinLastEvent(tables)} WHERE ${THIS_SESSION}`;
}

/** Gives a session the lease of a claim: assignments of an UPDATE, with the parameters of `claim`. */
export const LEASE_OF_CLAIM = `lease_until = $4::double precision + $5::double precision,
          lease_ttl = $5,
          open_run = CASE WHEN $7::text IS NULL THEN open_run WHEN $8::boolean THEN $7 END,
          attempts = CASE WHEN $7 IS NULL THEN attempts WHEN $8 AND open_run = $7 THEN attempts + 1 ELSE 1 END`;

/**
 * The parts of a WITH that write the ticket of a claim, with the parameters of `claim`, or remove it. `target` is the session before the
 * claim; `taken` names a part that has a row when the lease was given.
 */
export function ticketsOfClaim(tables: Tables, taken: string): string {
  const { tickets } = tables;
  return `waiting AS (
        INSERT INTO ${tickets} (app_name, user_id, session_id, id, since, expires_at)
        SELECT $1, $2, $3, $9, $10, $11::double precision FROM target
        WHERE $9 IS NOT NULL AND NOT EXISTS (SELECT FROM ${taken}) AND NOT EXISTS (${freshTicket(tables, 9)})
        ON CONFLICT (app_name, user_id, session_id, id) DO UPDATE SET since = excluded.since, expires_at = excluded.expires_at
      ), served AS (
        DELETE FROM ${tickets}
        WHERE ${THIS_SESSION} AND CASE WHEN EXISTS (SELECT FROM ${taken}) THEN id = $9 OR expires_at <= $4
          ELSE id = $9 AND NOT EXISTS (SELECT FROM target) END
      )`;
}

/** The ticket of a claim, while at least half of its time is left. */
function freshTicket({ tickets }: Tables, ticket: number): string {
  return `SELECT FROM ${tickets}
        WHERE ${THIS_SESSION} AND id = $${ticket} AND expires_at >= ($4 + $${ticket + 2}::double precision) / 2`;
}
