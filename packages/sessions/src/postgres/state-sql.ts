import type { Tables } from './tables.ts';

/** Maximum number of removed keys that one statement sweeps. */
const SWEPT = 100;

/**
 * Selects entries of state as rows: of the app and user of $1 and $2, or of the session in the one row of `owner`, in
 * its column `pk`. Scopes, keys and values are arrays from parameter `first` on; null is the value of a key to remove.
 */
function entries(owner: string, first: number): string {
  const columns = [first, first + 1, first + 2].map((number) => `$${number}::text[]`).join(', ');
  return `
    SELECT
      CASE scope WHEN 'session' THEN pk ELSE 0 END AS session,
      CASE scope WHEN 'session' THEN '' ELSE $1::text END AS app_name,
      CASE scope WHEN 'user' THEN $2::text ELSE '' END AS user_id,
      key,
      value
    FROM ${owner}, unnest(${columns}) AS write (scope, key, value)`;
}

/**
 * Sets entries, and marks those of an app or a user that are to be removed. One statement handles both kinds of rows, and new rows, in the
 * order of the keys. All writers lock shared keys in this order, so they cannot deadlock. Each writer sees a key as the previous writer
 * left it, even a key that was invisible when its statement began.
 */
function setEntries({ state }: Tables, onConflict: string): string {
  return `
    INSERT INTO ${state} AS stored (session, app_name, user_id, key, value, removed)
    SELECT session, app_name, user_id, key, coalesce(value, ''), value IS NULL FROM entries
    WHERE value IS NOT NULL OR session = 0
    ORDER BY session, app_name, user_id, key
    ON CONFLICT (session, app_name, user_id, key) DO ${onConflict}`;
}

/** The part of a WITH that writes entries; the rest of the WITH refers to it as `entries`. */
export function writeEntries(tables: Tables, owner: string, first: number, removes: boolean): string {
  const set = setEntries(tables, 'UPDATE SET value = excluded.value, removed = excluded.removed');
  // Only the writer with the session's lock writes the session's own rows.
  const removal = `, removed AS (
    DELETE FROM ${tables.state} AS stored USING entries
    WHERE entries.value IS NULL AND entries.session <> 0 AND stored.session = entries.session
      AND stored.app_name = '' AND stored.user_id = '' AND stored.key = entries.key
  ), ${sweepRemoved(tables, '(SELECT count(*) FROM written) >= 0')}`;
  return `entries AS (${entries(owner, first)}
  ), written AS (${set} RETURNING 1
  )${removes ? removal : ''}`;
}

/**
 * The part of a WITH that deletes keys of the app and user of $1 and $2 that earlier statements marked as removed, at
 * most `SWEPT` of them. It must run last, which `condition` has to ensure, and skips rows that others have locked (SKIP
 * LOCKED), so it cannot deadlock.
 */
export function sweepRemoved({ state }: Tables, condition: string): string {
  return `swept AS (
    DELETE FROM ${state} AS stored USING (
      SELECT app_name, user_id, key FROM ${state}
      WHERE session = 0 AND app_name = $1 AND user_id IN ('', $2) AND removed AND ${condition}
      LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE stored.session = 0 AND stored.app_name = old.app_name AND stored.user_id = old.user_id AND stored.key = old.key
  )`;
}

/** A statement that sets absent entries: $1 app, $2 user, $3 pk of the session, $4 to $6 the entries. */
export function addEntries(tables: Tables): string {
  return `
    WITH owner AS (SELECT $3::bigint AS pk), entries AS (${entries('owner', 4)})
    ${setEntries(tables, 'UPDATE SET value = excluded.value, removed = false WHERE stored.removed')}`;
}
