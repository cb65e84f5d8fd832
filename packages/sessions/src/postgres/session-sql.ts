import type { SessionKey } from '@eventloom/core';
import { EPOCH_CYCLE } from '@eventloom/core/internal';
import { quoteText, type Tables } from './tables.ts';

/** Selects the session of $1 app, $2 user and $3 session. */
export const THIS_SESSION = 'app_name = $1 AND user_id = $2 AND session_id = $3';

/** Returns the values of the parameters of `THIS_SESSION`. */
export function keyOf({
  appName,
  userId,
  sessionId,
}: SessionKey): [appName: string, userId: string, sessionId: string] {
  return [appName, userId, sessionId];
}

/** Maximum time by which a session's last update may be later than in the indexes of the listings, in milliseconds. */
export const LAG_MS = 60_000;

/**
 * Joins the last event of each `session`, as `last`; its columns are null if there is none, or if the condition does
 * not hold.
 */
export function joinLastEvent({ events }: Tables, condition = 'true'): string {
  return `LEFT JOIN LATERAL (
      SELECT seq, event_id, high_timestamp, compacted_until, appended_at, renewed_at, epoch FROM ${events} AS event
      WHERE event.session = session.pk AND ${condition} ORDER BY seq DESC LIMIT 1
    ) AS last ON true`;
}

/**
 * Returns the epoch of a new lease, as SQL. All epochs come from one sequence, so none is used twice; the remainder
 * counts the leases of the session.
 *
 * @param epoch that of the session's latest lease, as SQL; 0 for a new session
 */
export function nextEpoch({ epochs }: Tables, epoch: string): string {
  return `nextval(${quoteText(epochs)}) * ${EPOCH_CYCLE} + (${epoch} + 1) % ${EPOCH_CYCLE}`;
}

/**
 * Assignments of an UPDATE that end a lease. `first` is the number of the first of three parameters: the run of the
 * lease or null, whether it stays open, and whether that costs no attempt.
 */
export function releaseSql(first: number): string {
  return `lease_until = 0,
        open_run = CASE WHEN $${first + 1}::boolean THEN open_run ELSE nullif(open_run, $${first}::text) END,
        attempts = CASE WHEN $${first + 2}::boolean AND open_run = $${first} THEN attempts - 1 ELSE attempts END`;
}

/**
 * Assignment of an UPDATE that updates the time in the listing, at most once a minute, because indexes have it. `now`
 * is a parameter.
 */
export function listedSql(now: string): string {
  return `listed_at = CASE WHEN listed_at > ${now}::double precision OR listed_at <= ${now} - ${LAG_MS} THEN ${now} ELSE listed_at END`;
}

/** Expiry time of the lease of a `session` whose last event is joined: every append under the lease renews it. 0 if the session is free. */
export const HELD_UNTIL = `CASE lease_until WHEN 0 THEN 0
      ELSE greatest(lease_until, CASE last.epoch WHEN session.epoch THEN last.renewed_at + lease_ttl END) END`;
