import { isCurrentSql, versionSql } from './schema-version.ts';
import { HELD_UNTIL, joinLastEvent, LAG_MS, listedSql, releaseSql, THIS_SESSION } from './session-sql.ts';
import { writeEntries } from './state-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import type { Tables } from './tables.ts';

/** The kind of state change that an append writes. Each kind has its own statement, so that common appends do not do needless work. */
export type StateChange = 'none' | 'sets' | 'removes';

/**
 * Appends one event: checks the writer, numbers the event after the last one, and stores it with its state. Returns the number. Returns no
 * row and changes nothing if the session does not exist, belongs to another writer, has the event or lacks the one before, or if the tables
 * have another version.
 *
 * The session's row is locked but not written: versions of the row would accumulate while an old transaction is open. A writer that waited
 * for the lock sees the current row, but all other rows as of the start of the statement: if another event was appended in between, the
 * number is taken, and no row is returned. Every append therefore sees all earlier ones.
 *
 * $1 app, $2 user, $3 session, $4 incarnation, $5 event id, $6 timestamp, $7 end of a compaction, $8 event, $9 now, $10
 * epoch or null, $11 without an epoch: true if a lease is known to have expired, $12 the last event's number, $13 its
 * id, $14 its high timestamp and $15 the end of its compaction, or null if unknown; $16 scopes, $17 keys, $18 values.
 * If it also releases the lease, the run of the lease comes first as $16, then $17 true if it stays open, $18 true if
 * that costs no attempt, and how the run ended: $19 outcome or null, $20 code.
 */
export function appendStatement(tables: Tables, change: StateChange, releases = false): Statement {
  const { sessions, events, runs } = tables;
  const listed = `listed AS (
      UPDATE ${sessions} SET listed_at = $9::double precision WHERE ${THIS_SESSION} AND EXISTS (
        SELECT FROM head, stored WHERE listed_at > $9 OR listed_at <= $9 - ${LAG_MS}
      )
    )`;
  const released = `released AS (
      UPDATE ${sessions} SET ${releaseSql(16)}, ${listedSql('$9')}
      WHERE ${THIS_SESSION} AND EXISTS (SELECT FROM stored)
    ), ended AS (
      UPDATE ${runs} SET last_seq = stored.seq, outcome = $19, code = $20
      FROM stored WHERE session = stored.pk AND id = $16 AND NOT $17 AND $19::text IS NOT NULL
    )`;
  return toStatement(`
    WITH head AS (
      SELECT pk, listed_at FROM ${sessions}
      WHERE ${THIS_SESSION} AND pk::text = $4 AND ${isCurrentSql(tables)}
        AND CASE WHEN $10::bigint IS NULL THEN lease_until = 0 OR $11::boolean ELSE epoch = $10 AND lease_until > 0 END
        AND ${hasPositionSql(tables, '$12', '$13')}
      FOR NO KEY UPDATE
    ), stored AS (
      INSERT INTO ${events} (session, seq, event_id, timestamp, high_timestamp, compaction_end, compacted_until, appended_at, renewed_at, epoch, event)
      SELECT pk, coalesce($12::bigint, last.seq, 0) + 1, $5::text, $6,
        greatest($14::double precision, last.high_timestamp, $6::double precision),
        $7, greatest($15::double precision, last.compacted_until, $7::double precision), $9, ${tables.clock('$9')}, $10, $8::text
      FROM head AS session ${joinLastEvent(tables, '$12::bigint IS NULL')}
      ON CONFLICT DO NOTHING
      RETURNING session AS pk, seq, event_id, high_timestamp, compacted_until
    ), ${releases ? released : listed}${change === 'none' ? '' : `, ${writeEntries(tables, 'stored', releases ? 21 : 16, change === 'removes')}`}
    SELECT seq, event_id, high_timestamp, compacted_until FROM stored`);
}

/**
 * Condition that the session of `pk` has the event at the position of its writer: a database that replaced a failed one may have lost it.
 * Both parameters are null if the position is unknown, and the id also before the first event.
 */
function hasPositionSql({ events }: Tables, seq: string, eventId: string): string {
  return `(SELECT event_id FROM ${events} AS event WHERE event.session = pk AND seq = ${seq}::bigint) IS NOT DISTINCT FROM ${eventId}::text`;
}

/** Locks the session's row, so that no other transaction writes to the session before the end of this one. */
export function lockStatement(tables: Tables): Statement {
  return toStatement(`
    SELECT pk::text AS pk FROM ${tables.sessions} WHERE ${THIS_SESSION} AND ${isCurrentSql(tables)} FOR NO KEY UPDATE`);
}

/** Ends the session's lease, even if another process has it. */
export function endLeaseStatement({ sessions }: Tables): Statement {
  return toStatement(`UPDATE ${sessions} SET lease_until = 0 WHERE ${THIS_SESSION} AND lease_until > 0`);
}

/**
 * Facts that can prevent an append: the holder of the session at $7, the event with this id ($4), and whether the
 * session has the event at the position of its writer ($5 number, $6 id). `pk` is null if the session does not exist.
 */
export interface RefusalRow {
  readonly version: unknown;
  readonly pk: string | null;
  readonly epoch: unknown;
  readonly lease_until: unknown;
  readonly held_until: unknown;
  readonly now: unknown;
  readonly last_seq: unknown;
  readonly has_position: boolean;
  readonly event: string | null;
}

export function refusalStatement(tables: Tables): Statement {
  const { sessions, events } = tables;
  return toStatement(`
    SELECT version, found.* FROM (SELECT ${versionSql(tables)} AS version) AS tables LEFT JOIN (
      SELECT session.pk::text AS pk, session.epoch, lease_until, ${HELD_UNTIL} AS held_until, ${tables.clock('$7')} AS now,
        coalesce(last.seq, 0) AS last_seq, ${hasPositionSql(tables, '$5', '$6')} AS has_position, earlier.event
      FROM ${sessions} AS session ${joinLastEvent(tables)}
      LEFT JOIN ${events} AS earlier ON earlier.session = session.pk AND earlier.event_id = $4
      WHERE ${THIS_SESSION}
    ) AS found ON true`);
}
