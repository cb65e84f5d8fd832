import type { Tables } from './tables.ts';

/**
 * Entries of state as rows: of the app and user of $1 and $2, or of the session that is the one row of `owner` with a column `pk`.
 * Scopes, keys and values are arrays from parameter `first` on; a value of null is a key to remove.
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

/** Sets entries. All writers take the keys that they share with others in the same order, so that none waits in a circle. */
function setEntries({ state }: Tables, onConflict: string): string {
  return `
    INSERT INTO ${state} (session, app_name, user_id, key, value)
    SELECT session, app_name, user_id, key, value FROM entries WHERE value IS NOT NULL
    ORDER BY session, app_name, user_id, key
    ON CONFLICT (session, app_name, user_id, key) DO ${onConflict}`;
}

/** The part of a WITH that writes entries, called `entries` in the rest of it. */
export function writeEntries(tables: Tables, owner: string, first: number, removes: boolean): string {
  const removal = `, removed AS (
    DELETE FROM ${tables.state} AS stored USING entries
    WHERE entries.value IS NULL AND stored.session = entries.session AND stored.app_name = entries.app_name
      AND stored.user_id = entries.user_id AND stored.key = entries.key
  )`;
  return `entries AS (${entries(owner, first)}
  ), written AS (${setEntries(tables, 'UPDATE SET value = excluded.value')}
  )${removes ? removal : ''}`;
}

/** A statement that sets entries where they are not there: $1 app, $2 user, $3 pk of the session, $4 to $6 the entries. */
export function addEntries(tables: Tables): string {
  return `
    WITH owner AS (SELECT $3::bigint AS pk), entries AS (${entries('owner', 4)})
    ${setEntries(tables, 'NOTHING')}`;
}
