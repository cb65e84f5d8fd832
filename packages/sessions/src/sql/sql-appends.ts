import type { SessionLease } from '@eventloom/core';
import type { AppendOutcome, EventAppend } from '../session-driver.ts';
import { findSession } from './find-session.ts';
import type { SqlConnection } from './sql-connection.ts';
import { type EventPlace, nextHighTimestamp, type SqlEvents } from './sql-events.ts';
import type { SessionWriter, SqlLeases } from './sql-leases.ts';
import type { SqlListing } from './sql-listing.ts';
import type { SqlState } from './sql-state.ts';
import type { Statements } from './statements.ts';

/** What an append writes to. */
export interface AppendParts {
  readonly events: SqlEvents;
  readonly state: SqlState;
  readonly listing: SqlListing;
  readonly leases: SqlLeases;
}

/** Appends events: in one statement where the lease's owner knows the place and nothing else changes, else in one transaction. */
export class SqlAppends {
  readonly #connection: SqlConnection;
  readonly #sql: Statements;
  readonly #parts: AppendParts;

  constructor(connection: SqlConnection, sql: Statements, parts: AppendParts) {
    this.#connection = connection;
    this.#sql = sql;
    this.#parts = parts;
  }

  /** @throws SizeLimitError and InvalidEventError, with nothing changed */
  append(append: EventAppend): AppendOutcome {
    const { lease, event, nowMs } = append;
    const { events, leases, listing } = this.#parts;
    const text = events.toText(event);
    const writer = lease && leases.writerOf(lease);
    if (lease && writer && append.incarnation === String(writer.pk)) {
      const { pk } = writer;
      const place = {
        pk,
        seq: writer.lastSeq + 1,
        highTimestamp: nextHighTimestamp(writer.highTimestamp, event.timestamp),
      };
      const isListed = listing.isCurrent(writer.listedAt, nowMs);
      const next = () => this.#appendNext(append, lease, place, text, isListed);
      // What lies elsewhere is seen to inside a transaction.
      const isSingle = isListed && append.writes.length === 0 && text.startsWith('{');
      if (isSingle ? next() : this.#connection.write(next)) {
        writer.lastSeq = place.seq;
        writer.highTimestamp = place.highTimestamp;
        if (!isListed) writer.listedAt = nowMs;
        return { status: 'stored', seq: place.seq };
      }
    }
    const { outcome, writer: found } = this.#connection.write(() => this.#appendAnywhere(append, text));
    // Not before the commit: what that refused must not be counted on.
    if (lease && found) leases.remember(lease, found);
    return outcome;
  }

  /** Appends at the place that the lease's owner knows; false, with nothing changed, when that cannot be done. */
  #appendNext(
    { appName, userId, event, writes, nowMs }: EventAppend,
    { epoch }: SessionLease,
    place: EventPlace,
    text: string,
    isListed: boolean,
  ): boolean {
    const { events, listing, state } = this.#parts;
    if (!events.insert(place, event, text, nowMs, epoch)) return false;
    if (!isListed) listing.update(place.pk, nowMs);
    state.write(appName, userId, place.pk, writes);
    return true;
  }

  /** Looks everything up, and says why when nothing is appended. */
  #appendAnywhere(
    append: EventAppend,
    text: string,
  ): { readonly outcome: AppendOutcome; readonly writer?: SessionWriter } {
    const { events, state, listing, leases } = this.#parts;
    const { appName, userId, sessionId, event, nowMs, lease } = append;
    const row = findSession(this.#sql, append);
    if (!row || String(row.pk) !== append.incarnation) return { outcome: { status: 'missing' } };
    const { pk, epoch } = row;
    const held = row.lease_until > 0;
    if (lease && !(held && epoch === lease.epoch)) return { outcome: { status: 'stale' } };
    if (!lease && held && row.free_at > nowMs) return { outcome: { status: 'busy', freeAtMs: row.free_at } };
    const duplicate = events.find(pk, event.id);
    if (duplicate) return { outcome: { status: 'duplicate', event: duplicate, lastSeq: row.last_seq } };
    const seq = row.last_seq + 1;
    const highTimestamp = nextHighTimestamp(row.high_timestamp ?? -Infinity, event.timestamp);
    events.insert({ pk, seq, highTimestamp }, event, text, nowMs);
    state.write(appName, userId, pk, append.writes);
    const isListed = listing.isCurrent(row.listed_at, nowMs);
    if (!isListed) listing.update(pk, nowMs);
    if (!lease && held) leases.end({ appName, userId, sessionId, epoch });
    const listedAt = isListed ? row.listed_at : nowMs;
    return { outcome: { status: 'stored', seq }, writer: { pk, lastSeq: seq, highTimestamp, listedAt } };
  }
}
