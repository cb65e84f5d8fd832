import type { RelayTables } from './relay-tables.ts';

/** The channel of all relays of a database. A notification only says that the tables have changed. */
export const CHANNEL = 'eventloom_runs';

/** The time for which the rows of a run outlive its session, so that followers get the end of the run. */
const FORGET_AFTER = `interval '10 seconds'`;
const OF_SESSION = 'r.app_name = $1 AND r.user_id = $2 AND r.session_id = $3';
const OF_RUN = `${OF_SESSION} AND r.invocation_id = $4`;
/** True if the row belongs to an earlier attempt than the announced one. Attempt 0 has not started. */
const IS_EARLIER_ATTEMPT = `(r.host <> excluded.host OR (r.attempt > 0 AND r.attempt < excluded.attempt))`;
const KEPT_UNTIL = `now() + r.keep_ms * interval '1 millisecond'`;

export type RelayStatements = ReturnType<typeof relayStatements>;

/** Returns the statements of the relay. The comment of each statement lists its parameters in order. */
export function relayStatements({ hosts, runs, chunks }: RelayTables) {
  const isAlive = `EXISTS (SELECT FROM ${hosts} h WHERE h.host = r.host AND h.lease_until > now())`;
  const renewLease = `
    INSERT INTO ${hosts} (host, lease_until) VALUES ($1, now() + $2 * interval '1 millisecond')
    ON CONFLICT (host) DO UPDATE SET lease_until = excluded.lease_until`;
  return {
    /**
     * Inserts the rows of new runs. A run whose row exists, because the result of the same statement was lost,
     * continues with that row. The row of an earlier attempt at the run, by any host, is replaced; a request to end the
     * same attempt stays. A run with a later attempt by another host is not returned. Parameters: host, lease and time
     * to keep in ms, then lists: keys, apps, users, sessions, attempts, positions of the removed frames, true for runs
     * that are followed, request ids or null, and invocation ids.
     */
    announce: `
      WITH lease AS (${renewLease})
      INSERT INTO ${runs} AS r
        (run_key, invocation_id, host, app_name, user_id, session_id, keep_ms, attempt, gone_position, last_position, is_followed, request_id)
      SELECT b.run_key, b.invocation_id, $1, b.app_name, b.user_id, b.session_id, $3, b.attempt, b.gone_position, b.gone_position, b.is_followed, b.request_id
      FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::boolean[], $11::text[], $12::text[])
        AS b (run_key, app_name, user_id, session_id, attempt, gone_position, is_followed, request_id, invocation_id)
      ON CONFLICT (run_key) DO UPDATE SET
        host = excluded.host, request_id = excluded.request_id, keep_ms = excluded.keep_ms, attempt = excluded.attempt,
        gone_position = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN excluded.gone_position ELSE r.gone_position END,
        last_position = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN excluded.last_position ELSE r.last_position END,
        chars = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN 0 ELSE r.chars END,
        state = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN 'running' ELSE r.state END,
        stop = CASE WHEN r.attempt > 0 AND r.attempt < excluded.attempt THEN NULL ELSE r.stop END,
        expires_at = CASE WHEN ${IS_EARLIER_ATTEMPT} THEN NULL ELSE r.expires_at END
      WHERE r.attempt <= excluded.attempt
      RETURNING run_key, last_position::float8 AS last_position`,

    /** Returns the statement that writes new frames of this number of runs. */
    write: (count: number) => writeStatement({ runs, chunks }, count),

    /** Renews the lease of a host. Parameters: host, lease in milliseconds. */
    beat: renewLease,

    /** Selects the runs that a host is asked to stop. Parameter: the host. */
    stops: `SELECT app_name, user_id, session_id, invocation_id, stop FROM ${runs} WHERE host = $1 AND stop IN ('cancel', 'forget')`,

    /** Marks a host's other runs as dropped. Parameters: host, keys of the runs that it publishes. */
    drop: `
      UPDATE ${runs} r SET state = 'dropped', expires_at = ${KEPT_UNTIL}
      WHERE r.host = $1 AND r.expires_at IS NULL AND r.run_key <> ALL ($2::text[])
      RETURNING pg_notify('${CHANNEL}', 'more ' || r.run_key)`,

    /** Marks the runs of a host that shuts down as lost. Parameter: host. */
    leave: `DELETE FROM ${hosts} WHERE host = $1`,

    /** Finds a run. Parameters: app, user, session, invocation id or request id, and the host that asks. */
    find: `
      SELECT r.invocation_id, r.attempt::float8 AS attempt, r.gone_position::float8 AS gone_position, r.last_position::float8 AS last_position,
        r.state, ${isAlive} AS is_alive
      FROM ${runs} r
      WHERE ${OF_SESSION} AND $4 IN (r.invocation_id, r.request_id)
        AND r.stop IS DISTINCT FROM 'forget' AND r.stop IS DISTINCT FROM 'hidden' AND (r.expires_at IS NULL OR r.expires_at > now())
      ORDER BY r.invocation_id = $4 DESC, r.expires_at DESC NULLS FIRST, is_alive DESC, r.host = $5 LIMIT 1`,

    /** Asks the host of a run to publish each frame immediately, with notifications. Parameters: app, user, session, id. */
    follow: `
      UPDATE ${runs} r SET is_followed = true
      WHERE ${OF_RUN} AND NOT r.is_followed
      RETURNING pg_notify('${CHANNEL}', 'follow ' || r.run_key)`,

    /** Reads a run, and its chunks after a position. Parameters: app, user, session, id, position, maximum number of chunks. */
    read: `
      SELECT r.last_position::float8 AS last_position, r.state, ${isAlive} AS is_alive,
        c.after_position::float8 AS after_position, c.frames
      FROM ${runs} r
      LEFT JOIN LATERAL (
        SELECT after_position, last_position, frames FROM ${chunks}
        WHERE run_key = r.run_key AND last_position > $5 ORDER BY last_position LIMIT $6
      ) c ON true
      WHERE ${OF_RUN}
      ORDER BY c.last_position`,

    /** Asks the host of a run to end it. Parameters: app, user, session, id. */
    cancel: `
      UPDATE ${runs} r SET stop = 'cancel'
      WHERE ${OF_RUN} AND r.state <> 'ended' AND r.stop IS NULL
      RETURNING pg_notify('${CHANNEL}', 'stop ' || r.host)`,

    /** Reads the runs of a session, and whether they belong to this host. Parameters: app, user, session, host. */
    runsOfSession: `SELECT r.run_key, r.invocation_id, r.host = $4 AS is_own FROM ${runs} r WHERE ${OF_SESSION}`,

    /**
     * Asks the host of a run to end and forget it. Handles one run at a time, so that two statements never wait for
     * each other. Parameter: key.
     */
    forget: `
      UPDATE ${runs} r SET stop = 'forget',
        expires_at = CASE WHEN r.expires_at IS NOT NULL THEN LEAST(r.expires_at, now() + ${FORGET_AFTER}) END
      WHERE r.run_key = $1
      RETURNING r.last_position::float8 AS last_position, r.expires_at IS NOT NULL AS is_over, pg_notify('${CHANNEL}', 'stop ' || r.host)`,

    /** Sets the expiry of runs whose host is lost, as for ended runs. */
    expireLost: `
      WITH lost AS (
        SELECT r.run_key FROM ${runs} r WHERE r.expires_at IS NULL AND NOT ${isAlive} FOR UPDATE SKIP LOCKED
      )
      UPDATE ${runs} r SET expires_at = ${KEPT_UNTIL} FROM lost WHERE r.run_key = lost.run_key`,

    /** Deletes expired runs, and the oldest ended runs beyond a total number of characters. Parameter: that number. */
    sweep: `
      WITH ended AS (
        SELECT run_key, sum(chars) OVER (ORDER BY expires_at DESC, run_key) AS total
        FROM ${runs} WHERE expires_at IS NOT NULL
      ), locked AS (
        SELECT r.run_key FROM ${runs} r JOIN ended e USING (run_key)
        WHERE r.expires_at < now() OR (r.expires_at IS NOT NULL AND e.total > $1)
        FOR UPDATE OF r SKIP LOCKED
      ), gone AS (
        DELETE FROM ${runs} r USING locked WHERE r.run_key = locked.run_key RETURNING r.run_key
      )
      DELETE FROM ${chunks} c USING gone WHERE c.run_key = gone.run_key`,

    /** Deletes hosts whose lease expired more than an hour ago. */
    sweepHosts: `DELETE FROM ${hosts} WHERE lease_until < now() - interval '1 hour'`,
  };
}

/** The types of the columns of a run in a write. */
const WRITE_TYPES = ['text', 'bigint', 'bigint', 'bigint', 'bigint', 'text', 'boolean', 'bigint', 'text'];

/**
 * Writes the new frames of some runs in one transaction and notifies their followers; no notification is sent for a run without followers
 * in other processes. The row of a run is locked by its write and by a new follower, so one of the two sees the other. Returns a row for
 * each run that has one. An earlier write that arrives late changes nothing, and only `announce` can continue an ended run.
 *
 * Parameters: host, then for each run: key, attempt, position of the removed frames, newest written position, characters kept, state, true
 * to forget the run, position after which the frames follow, and the frames, one line each, or null. Removed chunks are deleted.
 */
function writeStatement({ runs, chunks }: Pick<RelayTables, 'runs' | 'chunks'>, count: number): string {
  const rows = Array.from({ length: count }, (_, row) => {
    const cells = WRITE_TYPES.map((type, column) => `$${row * WRITE_TYPES.length + column + 2}::${type}`);
    return `(${cells.join(', ')})`;
  });
  return `
    WITH batch (run_key, attempt, gone_position, last_position, chars, state, is_forgotten, after_position, frames) AS (
      VALUES ${rows.join(', ')}
    ), updated AS (
      UPDATE ${runs} r SET
        attempt = b.attempt, gone_position = b.gone_position, last_position = b.last_position, chars = b.chars, state = b.state,
        stop = CASE WHEN b.is_forgotten AND r.stop IS DISTINCT FROM 'forget' THEN 'hidden' ELSE r.stop END,
        expires_at = CASE
          WHEN b.state = 'running' THEN NULL
          WHEN b.is_forgotten OR r.stop = 'forget' THEN now() + ${FORGET_AFTER}
          ELSE ${KEPT_UNTIL} END
      FROM batch b
      WHERE r.run_key = b.run_key AND r.host = $1 AND r.attempt <= b.attempt
        AND r.last_position <= b.last_position AND (r.state <> 'ended' OR b.state <> 'running')
      RETURNING r.run_key, r.is_followed, r.stop, b.gone_position, b.after_position, b.last_position, b.frames
    ), written AS (
      INSERT INTO ${chunks} (run_key, after_position, last_position, frames)
      SELECT run_key, after_position, last_position, frames FROM updated WHERE frames IS NOT NULL
      ON CONFLICT DO NOTHING
    ), removed AS (
      DELETE FROM ${chunks} c USING updated u WHERE c.run_key = u.run_key AND c.last_position <= u.gone_position
    )
    SELECT run_key, is_followed, stop IN ('cancel', 'forget') IS TRUE AS is_stopped,
      CASE WHEN is_followed THEN pg_notify('${CHANNEL}', 'more ' || run_key)::text END AS notified
    FROM updated`;
}
