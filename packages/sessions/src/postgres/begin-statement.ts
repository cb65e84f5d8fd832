import type { StateChange } from './append-statement.ts';
import { claimTarget, leaseOfClaim, MAY_BEGIN, recordOfRun, RUN_OF_CLAIM, ticketsOfClaim } from './lease-statements.ts';
import { FOUND, narrowedWindow, plainWindow, stateOf, union } from './read-statements.ts';
import { isCurrentSql, versionSql } from './schema-version.ts';
import { listedSql, nextEpoch, THIS_SESSION } from './session-sql.ts';
import { writeEntries } from './state-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import type { Tables } from './tables.ts';

/** The number of the first parameter of the window to read. */
const WINDOW = 19;

/**
 * Begins a run with a message: claims the lease of a free session, or creates the session, records the run, appends the message with its
 * state, and reads the session before the message. Returns the rows of that read and a `claim` row, whose value is a `ClaimRow` as JSON.
 * Without the lease, only a ticket is written, and only the `claim` row is returned.
 *
 * The read and the message's number are as of the start of the statement. If the statement waited for the session's row and another event
 * was appended in between, or another lease granted, nothing is written and there is no lease: the message always follows the events that
 * were read. No lease is granted either if the event's id is taken, the lease has expired (see `claim`), or a compaction covers the
 * message's time. The run then begins in steps, under the lock.
 *
 * $1 to $13 as of `claimForRun`; $14 event id, $15 timestamp, $16 end of a compaction, $17 event, $18 whether to create the session; then
 * the window, with three parameters or, when `isNarrowed`, five; then scopes, keys and values.
 */
export function beginStatement(tables: Tables, change: StateChange, isNarrowed: boolean): Statement {
  const { sessions, events } = tables;
  const current = isCurrentSql(tables);
  const { bounds, events: narrowed } = narrowedWindow(tables, WINDOW);
  const writes = writeEntries(tables, 'stored', WINDOW + (isNarrowed ? 5 : 3), change === 'removes');
  return toStatement(`
    WITH RECURSIVE target AS (${claimTarget(tables, 7, true)}
    ), head AS (
      SELECT pk, epoch FROM ${sessions}
      WHERE ${THIS_SESSION} AND ${current}
        AND ($6::boolean OR lease_until = 0 AND (SELECT awaited_until FROM target) IS NULL) AND ${MAY_BEGIN}
      FOR NO KEY UPDATE
    ), made AS (
      INSERT INTO ${sessions}
        (app_name, user_id, session_id, created_at, listed_at, epoch, lease_until, lease_ttl, open_run, attempts, open_resumable)
      SELECT $1, $2, $3, $4::double precision, $4, ${nextEpoch(tables, '0')}, ${tables.clock('$4')} + $5::double precision, $5, $10::text, 1, $11::boolean
      WHERE $18::boolean AND ${current} AND NOT EXISTS (SELECT FROM target)
      ON CONFLICT DO NOTHING RETURNING pk, user_id, session_id, epoch
    ), stored AS (
      INSERT INTO ${events} (session, seq, event_id, timestamp, high_timestamp, compaction_end, compacted_until, appended_at, renewed_at, epoch, event)
      SELECT writer.pk, coalesce(target.seq, 0) + 1, $14::text, $15::double precision, greatest(target.high_timestamp, $15),
        $16::double precision, greatest(target.compacted_until, $16), $4, ${tables.clock('$4')}, writer.epoch, $17::text
      FROM (SELECT pk, ${nextEpoch(tables, 'epoch')} AS epoch FROM head UNION ALL SELECT pk, epoch FROM made) AS writer
      LEFT JOIN target ON target.pk = writer.pk
      WHERE target.compacted_until IS NULL OR target.compacted_until < $15
      ON CONFLICT DO NOTHING
      RETURNING session AS pk, seq, event_id, high_timestamp, compacted_until, epoch
    ), claimed AS (
      UPDATE ${sessions} SET epoch = (SELECT epoch FROM stored), ${leaseOfClaim(tables)}, ${RUN_OF_CLAIM}, ${listedSql('$4')}
      WHERE ${THIS_SESSION} AND EXISTS (SELECT FROM stored)
    ), ${recordOfRun(tables, 'stored')}, ${change === 'none' ? '' : `${writes}, `}${ticketsOfClaim(tables, 'stored')}, found AS (
      SELECT pk, user_id, session_id, seq AS last_seq, updated_at, compacted_until AS compaction_end, 1::bigint AS place
      FROM target WHERE EXISTS (SELECT FROM stored)
      UNION ALL
      SELECT pk, user_id, session_id, 0, $4, NULL, 1 FROM made
    )${isNarrowed ? `, ${bounds}` : ''}
    ${union(FOUND, stateOf(tables), isNarrowed ? narrowed : plainWindow(tables, WINDOW), claimRow(tables))}`);
}

/** Selects one row for any outcome of the claim: the session before the claim, the new epoch, and the position of the message. */
function claimRow(tables: Tables): string {
  const columns = {
    version: 'version',
    pk: 'target.pk::text',
    held_until: 'held_until',
    awaited_until: 'awaited_until',
    now: tables.clock('$4'),
    epoch: 'stored.epoch',
    seq: 'stored.seq',
    event_id: 'stored.event_id',
    high_timestamp: 'stored.high_timestamp',
    compacted_until: 'stored.compacted_until',
    open_run: 'open_run',
    attempts: 'attempts',
    open_resumable: 'open_resumable',
    known_as: 'known_as',
    first_seq: 'first_seq',
  };
  const fields = Object.entries(columns).map(([name, column]) => `'${name}', ${column}`);
  return `
    SELECT 'claim', NULL, NULL, NULL, json_build_object(${fields.join(', ')})::text, NULL, NULL, NULL
    FROM (SELECT ${versionSql(tables)} AS version) AS tables LEFT JOIN target ON true LEFT JOIN stored ON true`;
}
