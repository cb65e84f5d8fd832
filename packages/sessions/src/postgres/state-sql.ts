import { KEY_BYTES, MAX_STATE_BYTES } from '../state-limit.ts';
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

/** Finds the scope and the size in the error of a statement after which a state would be too large. */
export const STATE_TOO_LARGE = /"eventloom state too large: (\w+) (\d+)"/;

/**
 * The part of a WITH that measures the states of the entries as they would be afterwards. The statement fails if one of
 * them would be too large and larger than before: it converts a text to a number, because SQL has no other way to
 * refuse rows with a reason.
 */
function measureStates({ state }: Tables): string {
  const { app, user, session } = MAX_STATE_BYTES;
  const size = (rows: string): string =>
    `coalesce(sum(octet_length(${rows}.key) + octet_length(${rows}.value) + ${KEY_BYTES}), 0)`;
  const sameOwner = (rows: string): string =>
    `${rows}.session = owner.session AND ${rows}.app_name = owner.app_name AND ${rows}.user_id = owner.user_id`;
  return `measured AS (
    SELECT count(CASE WHEN written > replaced AND written + stored - replaced > most
      THEN ('eventloom state too large: ' || scope || ' ' || (written + stored - replaced))::integer END) AS refused
    FROM (
      SELECT DISTINCT session, app_name, user_id,
        CASE WHEN session <> 0 THEN 'session' WHEN user_id = '' THEN 'app' ELSE 'user' END AS scope,
        CASE WHEN session <> 0 THEN ${session} WHEN user_id = '' THEN ${app} ELSE ${user} END AS most
      FROM entries WHERE value IS NOT NULL
    ) AS owner, LATERAL (
      SELECT ${size('entries')} AS written FROM entries WHERE value IS NOT NULL AND ${sameOwner('entries')}
    ) AS new, LATERAL (
      SELECT ${size('old')} AS stored,
        coalesce(sum(octet_length(old.key) + octet_length(old.value) + ${KEY_BYTES}) FILTER (WHERE old.key IN (
          SELECT key FROM entries WHERE ${sameOwner('entries')}
        )), 0) AS replaced
      FROM ${state} AS old WHERE ${sameOwner('old')} AND NOT removed
    ) AS old
  )`;
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
    WHERE (value IS NOT NULL OR session = 0) AND (SELECT refused FROM measured) = 0
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
  ), ${measureStates(tables)}, written AS (${set} RETURNING 1
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
    WITH owner AS (SELECT $3::bigint AS pk), given AS (${entries('owner', 4)}), entries AS (
      SELECT * FROM given WHERE NOT EXISTS (
        SELECT FROM ${tables.state} AS stored WHERE stored.session = given.session AND stored.app_name = given.app_name
          AND stored.user_id = given.user_id AND stored.key = given.key AND NOT stored.removed
      )
    ), ${measureStates(tables)}
    ${setEntries(tables, 'UPDATE SET value = excluded.value, removed = false WHERE stored.removed')}`;
}
