import type { RunOutcome } from '@eventloom/core';
import { isCurrentSql, versionSql } from './schema-version.ts';
import { HELD_UNTIL, joinLastEvent, nextEpoch, releaseSql, THIS_SESSION } from './session-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import type { Tables } from './tables.ts';
import type { PositionRow } from './writer-positions.ts';

/** Condition that the session has a lease. $4 is the epoch. */
const UNDER_LEASE = `${THIS_SESSION} AND epoch = $4 AND lease_until > 0`;

/**
 * The outcome of a claim, and the position of the session's last event. The other columns are null if the session does
 * not exist.
 */
export interface ClaimRow extends PositionRow {
  readonly version: unknown;
  readonly pk: string | null;
  /** The new epoch; null if the lease was not granted. */
  readonly epoch: unknown;
  /** Expiry time of the lease that held the session when the claim began. */
  readonly held_until: unknown;
  /** Time at which the last ticket before this claim expires; null if there is none. */
  readonly awaited_until: unknown;
  /** The time by the clock of leases. */
  readonly now: unknown;
}

/** The outcome of beginning a run. The open run is that of the session before the claim. */
export interface RunClaimRow extends ClaimRow, Omit<OpenRunRow, 'user_id' | 'session_id' | 'open_run' | 'now'> {
  readonly open_run: string | null;
  /** The other run that has the request, if there is one. */
  readonly known_as: string | null;
  /** The number of the first event of the run that begins, if it is recorded. */
  readonly first_seq: unknown;
  /** The epoch of the session's latest lease before the claim. Absent if the run begins in one statement with its message. */
  readonly seen?: unknown;
}

/** The row of an open run. */
export interface OpenRunRow {
  readonly user_id: string;
  readonly session_id: string;
  readonly open_run: string;
  readonly attempts: number;
  readonly open_resumable: boolean;
  readonly held_until: unknown;
  readonly now: unknown;
}

/** The row of a run or a request. */
export interface RunRow extends Omit<OpenRunRow, 'open_run'> {
  readonly invocation_id: string;
  readonly first_seq: unknown;
  readonly is_open: boolean | null;
  readonly last_seq: unknown;
  readonly outcome: RunOutcome['state'] | null;
  readonly code: string | null;
}

/** The statements about leases. All begin with $1 app, $2 user, $3 session. A statement that returns no row has changed nothing. */
export type LeaseStatements = ReturnType<typeof leaseStatements>;

export function leaseStatements(tables: Tables) {
  const { sessions, events, toolCalls, runs, webhooks } = tables;
  const current = isCurrentSql(tables);
  return {
    claim: claimStatement(tables, false),
    claimForRun: claimStatement(tables, true),

    /**
     * Refuses a claim with a ticket ($5 id, $6 its time, $7 its expiry) again, at $4 now: returns the time until which the session is held
     * or awaited. Only reads. Returns no row if the claim may succeed, or if its ticket has to be written again.
     */
    refuseAgain: toStatement(`
      WITH target AS (${claimTarget(tables, 5)})
      SELECT greatest(held_until, awaited_until) - ${tables.clock('$4')} AS free_in FROM target
      WHERE greatest(held_until, awaited_until) > ${tables.clock('$4')} AND ${current} AND EXISTS (${freshTicket(tables, 5)})`),

    /** Deletes a ticket. $4 is its id. */
    withdrawTicket: toStatement(`DELETE FROM ${tables.tickets} WHERE ${THIS_SESSION} AND id = $4`),

    /** Renews a lease. $5 now. */
    renew: toStatement(
      `UPDATE ${sessions} SET lease_until = ${tables.clock('$5')} + lease_ttl WHERE ${UNDER_LEASE} AND ${current} RETURNING 1`,
    ),

    /** Releases a lease. $5 is the run of the lease, or null; $6 whether it stays open, $7 whether that costs no attempt. */
    release: toStatement(`
      UPDATE ${sessions} SET ${releaseSql(5)} WHERE ${UNDER_LEASE} RETURNING 1`),

    /**
     * Releases like `release`, records the outcome of the run ($8 outcome or null, $9 code), and removes the runs,
     * requests and webhooks $10.
     */
    releaseAndRecord: toStatement(`
      WITH released AS (UPDATE ${sessions} SET ${releaseSql(5)} WHERE ${UNDER_LEASE} RETURNING pk), ended AS (
        UPDATE ${runs} SET outcome = $8, code = $9,
          last_seq = coalesce((SELECT max(seq) FROM ${events} AS event WHERE event.session = released.pk), 0)
        FROM released
        WHERE session = released.pk AND id = $5 AND NOT $6 AND $8::text IS NOT NULL AND id <> ALL ($10::text[])
      ), forgotten AS (DELETE FROM ${runs} USING released WHERE session = pk AND id = ANY ($10::text[])
      ), unsent AS (
        DELETE FROM ${webhooks} USING released WHERE session = pk AND (id = ANY ($10::text[]) OR invocation_id = ANY ($10::text[]))
      )
      SELECT 1 FROM released`),

    /** Finds a run. $4 is the id of a run or a request, $5 now. */
    findRun: toStatement(`
      SELECT own.invocation_id, own.first_seq, own.last_seq, own.outcome, own.code, open_run = own.id AS is_open, user_id, session_id, attempts, open_resumable,
        ${HELD_UNTIL} AS held_until, ${tables.clock('$5')} AS now
      FROM ${sessions} AS session ${joinLastEvent(tables)}
      JOIN ${runs} AS run ON run.session = session.pk AND run.id = $4
      JOIN ${runs} AS own ON own.session = session.pk AND own.id = run.invocation_id
      WHERE ${THIS_SESSION}`),

    /**
     * Records the cancelled request $4 with the outcome $5 and code $6. A run that begins may have read the session before, and wait for
     * its row: the epoch of a free session changes, so that such a run reads the session again.
     */
    cancelRequest: toStatement(`
      WITH cancelled AS (
        UPDATE ${sessions} SET epoch = CASE lease_until WHEN 0 THEN ${nextEpoch(tables, 'epoch')} ELSE epoch END
        WHERE ${THIS_SESSION} AND ${current} RETURNING pk
      )
      INSERT INTO ${runs} AS earlier (session, id, invocation_id, first_seq, last_seq, outcome, code)
      SELECT pk, $4::text, $4, last_seq + 1, last_seq, $5::text, $6::text
      FROM cancelled, LATERAL (SELECT coalesce(max(seq), 0) AS last_seq FROM ${events} AS event WHERE event.session = pk) AS last
      ON CONFLICT (session, id) DO UPDATE SET invocation_id = excluded.invocation_id, first_seq = excluded.first_seq,
        last_seq = excluded.last_seq, outcome = excluded.outcome, code = excluded.code`),

    /**
     * Selects a page of open runs at $5 now: $1 app, $2 user and $3 session of the position after which the page begins, $4 number of runs.
     */
    openRuns: toStatement(`
      SELECT user_id, session_id, open_run, attempts, open_resumable, ${HELD_UNTIL} AS held_until,
        ${tables.clock('$5')} AS now
      FROM ${sessions} AS session ${joinLastEvent(tables)}
      WHERE app_name = $1 AND open_run IS NOT NULL AND (user_id, session_id) > ($2::text, $3::text)
      ORDER BY user_id, session_id LIMIT $4::bigint`),

    /** Records a tool call. $5 invocation, $6 call, $7 name, $8 status, $9 response, $10 actions. */
    recordToolCall: recordStatement('SELECT pk, $5, $6, $7, $8, $9, $10 FROM held'),
    /** Records different tool calls: the parameters of `recordToolCall` are lists. */
    recordToolCalls: recordStatement(
      `SELECT pk, call.invocation_id, call.call_id, call.name, call.status, call.response, call.actions
        FROM held, unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
          WITH ORDINALITY AS call (invocation_id, call_id, name, status, response, actions, place)
        ORDER BY call.place`,
    ),
  } satisfies Readonly<Record<string, Statement>>;

  /** Records the rows of `source` as tool calls. The lock keeps the lease until they are written. */
  function recordStatement(source: string): Statement {
    return toStatement(`
      WITH held AS (SELECT pk FROM ${sessions} WHERE ${UNDER_LEASE} AND ${current} FOR NO KEY UPDATE), recorded AS (
        INSERT INTO ${toolCalls} AS earlier (session, invocation_id, call_id, name, status, response, actions)
        ${source}
        ON CONFLICT (session, invocation_id, call_id) DO UPDATE
          SET name = excluded.name, status = excluded.status, response = excluded.response, actions = excluded.actions
          WHERE earlier.status <> 'finished'
      )
      SELECT 1 FROM held`);
  }

  /**
   * Claims a lease. $4 now, $5 duration, $6 true to take it from an owner, $7 to $9 a ticket: id, time and expiry, or null. For a run: $10
   * its id, $11 whether it can be resumed, $12 the request or null, $13 whether it continues, $15 the epoch that the latest lease must have
   * or null.
   *
   * A ticket with at least half of its time left is not written again, so most claims of a waiter write nothing.
   *
   * The last event determines whether a lease has expired, and a claim that waited for an append would not see it. An expired lease is
   * therefore taken only under the session's lock, if the last parameter is true. The row itself is always current.
   */
  function claimStatement(tables: Tables, forRun: boolean): Statement {
    const isLocked = forRun ? '$14' : '$10';
    return toStatement(`
      WITH target AS (${claimTarget(tables, 7, forRun)}
      ), claimed AS (
        UPDATE ${sessions} SET epoch = ${nextEpoch(tables, 'epoch')}, ${leaseOfClaim(tables)}${forRun ? `, ${RUN_OF_CLAIM}` : ''}
        WHERE ${THIS_SESSION} AND ${current} AND ($6::boolean
          OR (lease_until = 0 OR ${isLocked}::boolean AND (SELECT held_until FROM target) <= ${tables.clock('$4')})
            AND (SELECT awaited_until FROM target) IS NULL)${forRun ? ` AND ${MAY_BEGIN} AND ($15::bigint IS NULL OR epoch = $15)` : ''}
        RETURNING pk, epoch
      ), ${ticketsOfClaim(tables, 'claimed')}${forRun ? `, ${recordOfRun(tables, '(SELECT pk, (SELECT seq FROM target) + 1 AS seq FROM claimed)')}` : ''}
      SELECT version, pk, held_until, awaited_until, ${tables.clock('$4')} AS now, seq, event_id, high_timestamp, compacted_until, (SELECT epoch FROM claimed) AS epoch
        ${forRun ? ', seen, open_run, attempts, open_resumable, known_as, first_seq' : ''}
      FROM (SELECT ${versionSql(tables)} AS version) AS tables LEFT JOIN target ON true`);
  }
}

/**
 * The session of a claim at $4 now, with its last event. `ticket` is the number of the first of two parameters: id and
 * since when, or null. For the start of a run, with the records of the run and its request.
 */
export function claimTarget(tables: Tables, ticket: number, forRun = false): string {
  const { runs } = tables;
  const run = `, session.epoch AS seen, open_run, attempts, open_resumable, (
        SELECT own.id FROM ${runs} AS run JOIN ${runs} AS own ON own.session = run.session AND own.id = run.invocation_id
        WHERE run.session = session.pk AND run.id = $12 AND own.id <> $10
      ) AS known_as, (
        SELECT first_seq FROM ${runs} AS run WHERE run.session = session.pk AND run.id = $10 AND run.invocation_id = $10
      ) AS first_seq`;
  return `
    SELECT session.pk, session.user_id, session.session_id, ${HELD_UNTIL} AS held_until, coalesce(last.seq, 0) AS seq,
      last.event_id, last.high_timestamp, last.compacted_until, coalesce(last.appended_at, created_at) AS updated_at, (
        SELECT max(expires_at) FROM ${tables.tickets}
        WHERE ${THIS_SESSION} AND expires_at > ${tables.clock('$4')}
          AND ($${ticket}::text IS NULL OR (since, id) < (${since(tables, ticket)}, $${ticket}))
      ) AS awaited_until${forRun ? run : ''}
    FROM ${tables.sessions} AS session ${joinLastEvent(tables)} WHERE ${THIS_SESSION}`;
}

/** Assignments of an UPDATE that grant the lease of a claim, with the parameters of `claim`. */
export function leaseOfClaim({ clock }: Tables): string {
  return `lease_until = ${clock('$4')} + $5::double precision, lease_ttl = $5`;
}

/** The time at which the owner of a ticket began to wait, by the clock of leases. */
function since({ tickets, clock }: Tables, ticket: number): string {
  return `coalesce((SELECT since FROM ${tickets} WHERE ${THIS_SESSION} AND id = $${ticket}),
            ${clock('$4')} - ($4::double precision - $${ticket + 1}::double precision))`;
}

/** Assignments of an UPDATE that make a run the session's open run, with the parameters of `claimForRun`. */
export const RUN_OF_CLAIM = `open_run = $10::text,
          attempts = CASE WHEN open_run = $10 THEN attempts + 1 ELSE 1 END,
          open_resumable = CASE WHEN $13::boolean AND open_run = $10 THEN open_resumable ELSE $11::boolean END`;

/**
 * Condition on the row of a free session under which a run may begin, with the parameters of `claimForRun`. A statement
 * that waited for the row does not see runs recorded in between; then the epoch differs.
 */
export const MAY_BEGIN = `(open_run IS NULL OR open_run = $10::text) AND epoch = (SELECT seen FROM target)
          AND (SELECT known_as IS NULL AND (NOT $13::boolean OR first_seq IS NOT NULL) FROM target)`;

/**
 * The part of a WITH that records a run and its request. `begun` has a row if the run begins: its `pk`, and the `seq`
 * of its first event.
 */
export function recordOfRun({ runs }: Tables, begun: string): string {
  return `recorded AS (
        INSERT INTO ${runs} AS earlier (session, id, invocation_id, first_seq)
        SELECT begun.pk, id, $10, coalesce((SELECT first_seq FROM target), begun.seq)
        FROM ${begun} AS begun, unnest(ARRAY[$10, $12::text]) AS named (id) WHERE id IS NOT NULL
        ON CONFLICT (session, id) DO UPDATE SET invocation_id = excluded.invocation_id, first_seq = excluded.first_seq
          WHERE (earlier.invocation_id, earlier.first_seq) <> (excluded.invocation_id, excluded.first_seq)
      )`;
}

/**
 * The parts of a WITH that write the ticket of a claim, with the parameters of `claim`, or remove it. `target` is the
 * session before the claim; `taken` names a part that has a row if the lease was granted.
 */
export function ticketsOfClaim(tables: Tables, taken: string): string {
  const { tickets } = tables;
  return `waiting AS (
        INSERT INTO ${tickets} (app_name, user_id, session_id, id, since, expires_at)
        SELECT $1, $2, $3, $7, ${since(tables, 7)}, ${tables.clock('$4')} + ($9::double precision - $4) FROM target
        WHERE $7 IS NOT NULL AND NOT EXISTS (SELECT FROM ${taken}) AND NOT EXISTS (${freshTicket(tables, 7)})
        ON CONFLICT (app_name, user_id, session_id, id) DO UPDATE SET expires_at = excluded.expires_at
      ), served AS (
        DELETE FROM ${tickets}
        WHERE ${THIS_SESSION} AND CASE WHEN EXISTS (SELECT FROM ${taken}) THEN id = $7 OR expires_at <= ${tables.clock('$4')}
          ELSE id = $7 AND NOT EXISTS (SELECT FROM target) END
      )`;
}

/** Selects the ticket of a claim if at least half of its time is left. */
function freshTicket({ tickets, clock }: Tables, ticket: number): string {
  return `SELECT FROM ${tickets}
        WHERE ${THIS_SESSION} AND id = $${ticket} AND expires_at >= ${clock('$4')} + ($${ticket + 2}::double precision - $4) / 2`;
}
