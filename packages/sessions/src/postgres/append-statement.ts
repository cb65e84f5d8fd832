import { type Statement, toStatement } from './statement.ts';
import { writeEntries } from './state-sql.ts';
import type { Tables } from './tables.ts';

const KEY = 'app_name = $1 AND user_id = $2 AND session_id = $3';

/** The index that keeps the ids of a session's events apart. */
export const EVENT_IDS = 'eventloom_event_ids';

/** What of state an append writes. Each has a statement of its own, so that the common ones do nothing in vain. */
export type StateChange = 'none' | 'sets' | 'removes';

/**
 * Appends one event: checks whose session it is, numbers the event, and stores it with its state. Gives the number, or no row when
 * the session is not there or not the writer's. An id that the session has violates EVENT_IDS: the index that has to be looked into
 * anyway says so, whatever the planner thinks of the table.
 *
 * A writer that waited for another one's row goes on with that row as it is then, but sees all others as they were when it began:
 * it would miss a key that the other one made and this one removes. So it removes only when nothing was appended since it began,
 * which the comparison of `last_seq` with that of the older view tells.
 *
 * $1 app, $2 user, $3 session, $4 incarnation, $5 event id, $6 timestamp, $7 end of a compaction, $8 event, $9 now, $10 epoch or
 * null, $11 end of the lease, $12 scopes, $13 keys, $14 values.
 */
export function appendStatement(tables: Tables, change: StateChange): Statement {
  const { sessions, events } = tables;
  const isCurrent = `AND last_seq = (SELECT seen.last_seq FROM ${sessions} AS seen WHERE ${KEY})`;
  return toStatement(`
    WITH head AS (
      UPDATE ${sessions} AS session SET
        last_seq = session.last_seq + 1,
        updated_at = $9::double precision,
        high_timestamp = greatest(session.high_timestamp, $6::double precision),
        compaction_end = greatest(session.compaction_end, $7::double precision),
        lease_until = $11::double precision
      WHERE ${KEY} AND pk::text = $4
        AND CASE WHEN $10::bigint IS NULL THEN lease_until <= $9 ELSE epoch = $10 AND lease_until > 0 END
        ${change === 'removes' ? isCurrent : ''}
      RETURNING pk, last_seq, high_timestamp
    ), stored AS (
      INSERT INTO ${events} (session, seq, event_id, timestamp, high_timestamp, compaction_end, event)
      SELECT pk, last_seq, $5::text, $6, high_timestamp, $7, $8::text FROM head
    )${change === 'none' ? '' : `, ${writeEntries(tables, 'head', 12, change === 'removes')}`}
    SELECT last_seq AS seq FROM head`);
}

/** Takes the session's row, so that nobody appends before the end of the transaction. */
export function lockStatement({ sessions }: Tables): Statement {
  return toStatement(`SELECT pk::text AS pk FROM ${sessions} WHERE ${KEY} FOR NO KEY UPDATE`);
}

/** What can keep an event from being appended: who holds the session, and the event of this id ($4). */
export interface RefusalRow {
  readonly pk: string;
  readonly epoch: unknown;
  readonly lease_until: unknown;
  readonly last_seq: unknown;
  readonly event: string | null;
}

export function refusalStatement({ sessions, events }: Tables): Statement {
  return toStatement(`
    SELECT session.pk::text AS pk, epoch, lease_until, last_seq, event
    FROM ${sessions} AS session LEFT JOIN ${events} AS earlier ON earlier.session = session.pk AND earlier.event_id = $4
    WHERE ${KEY}`);
}
