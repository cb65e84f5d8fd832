import { NUMBERS_PER_ATTEMPT } from '../runs/attempt-numbers.ts';
import type { RelayTables } from './relay-tables.ts';

/** The channel of all relays of a database. A message is a hint that something is in the tables, and never what it is. */
export const CHANNEL = 'eventloom_runs';

/** How long the rows of a run outlive its session, for who follows it to be told of its end. */
const FORGET_AFTER = `interval '10 seconds'`;
const OF_SESSION = 'r.app_name = $1 AND r.user_id = $2 AND r.session_id = $3';
const OF_RUN = `${OF_SESSION} AND r.invocation_id = $4`;
/** True for a row of which all numbers are of an earlier attempt than those of the run that is announced. */
const IS_EARLIER_ATTEMPT = `r.last_seq < (excluded.first_seq - 1) / ${NUMBERS_PER_ATTEMPT} * ${NUMBERS_PER_ATTEMPT}`;
const KEPT_UNTIL = `now() + r.keep_ms * interval '1 millisecond'`;

export type RelayStatements = ReturnType<typeof relayStatements>;

/** What the relay says to the database. The parameters of a statement are named in its comment, in their order. */
export function relayStatements({ hosts, runs, chunks }: RelayTables) {
  const isAlive = `EXISTS (SELECT FROM ${hosts} h WHERE h.host = r.host AND h.lease_until > now())`;
  const renewLease = `
    INSERT INTO ${hosts} (host, lease_until) VALUES ($1, now() + $2 * interval '1 millisecond')
    ON CONFLICT (host) DO UPDATE SET lease_until = excluded.lease_until`;
  return {
    /**
     * Makes the rows of new runs. A run whose row is there already, because the answer to an earlier attempt was lost, goes on
     * where that row is; the row of an earlier attempt at the run, by whichever host, is made anew; one that another host claims is
     * not given back. Host, lease and time to keep in ms, then lists: ids, apps, users, sessions, oldest events, whether they are
     * followed.
     */
    announce: `
      WITH lease AS (${renewLease})
      INSERT INTO ${runs} AS r
        (invocation_id, host, app_name, user_id, session_id, keep_ms, first_seq, last_seq, is_followed)
      SELECT b.invocation_id, $1, b.app_name, b.user_id, b.session_id, $3, b.first_seq, b.first_seq - 1, b.is_followed
      FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::boolean[])
        AS b (invocation_id, app_name, user_id, session_id, first_seq, is_followed)
      ON CONFLICT (invocation_id) DO UPDATE SET
        host = excluded.host,
        app_name = excluded.app_name, user_id = excluded.user_id, session_id = excluded.session_id,
        keep_ms = excluded.keep_ms,
        first_seq = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN excluded.first_seq ELSE r.first_seq END,
        last_seq = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN excluded.last_seq ELSE r.last_seq END,
        chars = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN 0 ELSE r.chars END,
        state = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN 'running' ELSE r.state END,
        failure = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN NULL ELSE r.failure END,
        stop = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN NULL ELSE r.stop END,
        expires_at = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN NULL ELSE r.expires_at END
      WHERE r.host = excluded.host OR ${IS_EARLIER_ATTEMPT}
      RETURNING invocation_id, last_seq::float8 AS last_seq`,

    /** The statement that writes what is new of so many runs. */
    write: (count: number) => writeStatement({ runs, chunks }, count),

    /** Renews the lease of a host. Host, lease in ms. */
    beat: renewLease,

    /** The runs that a host is asked to stop. Host. */
    stops: `SELECT invocation_id, stop FROM ${runs} WHERE host = $1 AND stop IS NOT NULL`,

    /** Says of a host's other runs that it does not tell of them any more. Host, the ids of all that it does tell of. */
    drop: `
      UPDATE ${runs} r SET state = 'dropped', expires_at = ${KEPT_UNTIL}
      WHERE r.host = $1 AND r.expires_at IS NULL AND r.invocation_id <> ALL ($2::text[])
      RETURNING pg_notify('${CHANNEL}', 'more ' || r.invocation_id)`,

    /** The host ends: what it still runs is lost to those who follow it. Host. */
    leave: `DELETE FROM ${hosts} WHERE host = $1`,

    /** A run that may be found. App, user, session, id. */
    find: `
      SELECT r.first_seq::float8 AS first_seq, r.last_seq::float8 AS last_seq, r.state, r.failure, ${isAlive} AS is_alive
      FROM ${runs} r
      WHERE ${OF_RUN} AND r.stop IS DISTINCT FROM 'forget' AND (r.expires_at IS NULL OR r.expires_at > now())`,

    /** Has the host of a run tell of it at once, and by messages. App, user, session, id. */
    follow: `
      UPDATE ${runs} r SET is_followed = true
      WHERE ${OF_RUN} AND NOT r.is_followed
      RETURNING pg_notify('${CHANNEL}', 'follow ' || r.invocation_id)`,

    /** A run, and its chunks from an event on. App, user, session, id, event, how many chunks at most. */
    read: `
      SELECT r.last_seq::float8 AS last_seq, r.state, r.failure, ${isAlive} AS is_alive,
        c.first_seq::float8 AS chunk_from, c.events
      FROM ${runs} r
      LEFT JOIN LATERAL (
        SELECT first_seq, last_seq, events FROM ${chunks}
        WHERE invocation_id = r.invocation_id AND last_seq >= $5 ORDER BY last_seq LIMIT $6
      ) c ON true
      WHERE ${OF_RUN}
      ORDER BY c.last_seq`,

    /** Asks the host of a run to end it. App, user, session, id. */
    cancel: `
      UPDATE ${runs} r SET stop = 'cancel'
      WHERE ${OF_RUN} AND r.state <> 'ended' AND r.stop IS NULL
      RETURNING pg_notify('${CHANNEL}', 'stop ' || r.host)`,

    /** The runs of a session, and whether they are this host's. App, user, session, host. */
    runsOfSession: `SELECT r.invocation_id, r.host = $4 AS is_own FROM ${runs} r WHERE ${OF_SESSION}`,

    /** Asks the host of a run to end and forget it. One run at a time, so that no two statements wait for each other. Id. */
    forget: `
      UPDATE ${runs} r SET stop = 'forget',
        expires_at = CASE WHEN r.expires_at IS NOT NULL THEN LEAST(r.expires_at, now() + ${FORGET_AFTER}) END
      WHERE r.invocation_id = $1
      RETURNING r.last_seq::float8 AS last_seq, r.expires_at IS NOT NULL AS is_over, pg_notify('${CHANNEL}', 'stop ' || r.host)`,

    /** Lets the runs of hosts that are gone expire as if they had ended. */
    expireLost: `
      WITH lost AS (
        SELECT r.invocation_id FROM ${runs} r WHERE r.expires_at IS NULL AND NOT ${isAlive} FOR UPDATE SKIP LOCKED
      )
      UPDATE ${runs} r SET expires_at = ${KEPT_UNTIL} FROM lost WHERE r.invocation_id = lost.invocation_id`,

    /** Removes what expired, and of what ended the oldest beyond a number of characters. Characters. */
    sweep: `
      WITH ended AS (
        SELECT invocation_id, sum(chars) OVER (ORDER BY expires_at DESC, invocation_id) AS total
        FROM ${runs} WHERE expires_at IS NOT NULL
      ), locked AS (
        SELECT r.invocation_id FROM ${runs} r JOIN ended e USING (invocation_id)
        WHERE r.expires_at < now() OR (r.expires_at IS NOT NULL AND e.total > $1)
        FOR UPDATE OF r SKIP LOCKED
      ), gone AS (
        DELETE FROM ${runs} r USING locked WHERE r.invocation_id = locked.invocation_id RETURNING r.invocation_id
      )
      DELETE FROM ${chunks} c USING gone WHERE c.invocation_id = gone.invocation_id`,

    /** Removes hosts that were gone for an hour. */
    sweepHosts: `DELETE FROM ${hosts} WHERE lease_until < now() - interval '1 hour'`,
  };
}

/** The columns of a run in a write. */
const WRITE_TYPES = ['text', 'bigint', 'bigint', 'bigint', 'boolean', 'text', 'boolean', 'bigint', 'text'];

/**
 * Writes what is new of some runs, in one transaction, and tells those who follow them; a run that nobody follows elsewhere sends no
 * message. The row of a run is locked by its write and by whoever begins to follow it, so one of the two sees the other. Gives a row
 * for each run that has one; an earlier write that comes late undoes nothing, and of a run that ended only `announce` makes one that
 * goes on.
 *
 * Host, then for each run: id, the oldest event that is kept, the newest that is written, characters kept, whether it ended, its
 * failure, whether it is to be forgotten, the first event of the chunk, and its events, a line each, or null. Chunks before the
 * oldest event are removed.
 */
function writeStatement({ runs, chunks }: Pick<RelayTables, 'runs' | 'chunks'>, count: number): string {
  const rows = Array.from({ length: count }, (_, row) => {
    const cells = WRITE_TYPES.map((type, column) => `$${row * WRITE_TYPES.length + column + 2}::${type}`);
    return `(${cells.join(', ')})`;
  });
  return `
    WITH batch (invocation_id, kept_from, last_seq, chars, is_ended, failure, is_forgotten, chunk_from, events) AS (
      VALUES ${rows.join(', ')}
    ), updated AS (
      UPDATE ${runs} r SET
        first_seq = b.kept_from, last_seq = b.last_seq, chars = b.chars, failure = b.failure,
        state = CASE WHEN b.is_ended THEN 'ended' ELSE 'running' END,
        stop = CASE WHEN b.is_forgotten THEN 'forget' ELSE r.stop END,
        expires_at = CASE
          WHEN NOT b.is_ended THEN NULL
          WHEN b.is_forgotten OR r.stop = 'forget' THEN now() + ${FORGET_AFTER}
          ELSE ${KEPT_UNTIL} END
      FROM batch b
      WHERE r.invocation_id = b.invocation_id AND r.host = $1 AND r.last_seq <= b.last_seq
        AND (r.state <> 'ended' OR b.is_ended)
      RETURNING r.invocation_id, r.is_followed, r.stop, b.kept_from, b.chunk_from, b.last_seq, b.events
    ), written AS (
      INSERT INTO ${chunks} (invocation_id, first_seq, last_seq, events)
      SELECT invocation_id, chunk_from, last_seq, events FROM updated WHERE events IS NOT NULL
      ON CONFLICT DO NOTHING
    ), removed AS (
      DELETE FROM ${chunks} c USING updated u WHERE c.invocation_id = u.invocation_id AND c.last_seq < u.kept_from
    )
    SELECT invocation_id, is_followed, stop IS NOT NULL AS is_stopped,
      CASE WHEN is_followed THEN pg_notify('${CHANNEL}', 'more ' || invocation_id)::text END AS told
    FROM updated`;
}
