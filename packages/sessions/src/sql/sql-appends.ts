import type { Event, SessionLease } from '@eventloom/core';
import type { AppendCheck, AppendOutcome, EventAppend, RunClaim, RunEnd, RunMessage } from '../session-driver.ts';
import { findSession } from './find-session.ts';
import type { SqlConnection } from './sql-connection.ts';
import { type NextPlace, nextHighTimestamp, type SqlEvents } from './sql-events.ts';
import type { SessionWriter, SqlLeases } from './sql-leases.ts';
import type { SqlListing } from './sql-listing.ts';
import type { SqlState } from './sql-state.ts';
import type { SessionRow, SqlStatements } from './statements.ts';

/** The tables that an append writes to. */
interface AppendParts {
  readonly events: SqlEvents;
  readonly state: SqlState;
  readonly listing: SqlListing;
  readonly leases: SqlLeases;
}

/** The outcome of an append; the writer's position if the event was stored. */
interface AppendResult {
  readonly outcome: AppendOutcome;
  readonly writer?: SessionWriter;
}

/** Appends events: in one statement if the position is known from the lease and nothing else changes, otherwise in one transaction. */
export class SqlAppends {
  readonly #connection: SqlConnection;
  readonly #sql: SqlStatements;
  readonly #parts: AppendParts;

  constructor(connection: SqlConnection, sql: SqlStatements, parts: AppendParts) {
    this.#connection = connection;
    this.#sql = sql;
    this.#parts = parts;
  }

  /**
   * @param end the same append as the end of a run: its lease is released in the same transaction
   * @throws SizeLimitError and InvalidEventError, with nothing changed
   */
  append(append: EventAppend, end?: RunEnd): AppendOutcome {
    const { lease, event, nowMs } = append;
    const { events, leases, listing } = this.#parts;
    const text = events.toText(event);
    const writer = lease && leases.writerOf(lease);
    if (lease && writer && append.incarnation === String(writer.pk)) {
      const { pk } = writer;
      const place = {
        pk,
        seq: writer.lastSeq + 1,
        lastId: writer.lastId,
        highTimestamp: nextHighTimestamp(writer.highTimestamp, event.timestamp),
      };
      const isListed = listing.isCurrent(writer.listedAt, nowMs);
      const next = () => {
        if (!this.#appendNext(append, lease, place, text, isListed)) return false;
        if (end) leases.release(end.lease, end.keepRunOpen, end);
        return true;
      };
      // A value outside its row needs a transaction, whose end checks it.
      const isSingle = !end && isListed && append.writes.length === 0 && text.startsWith('{');
      if (isSingle ? next() : this.#connection.write(next)) {
        writer.lastSeq = place.seq;
        writer.lastId = event.id;
        writer.highTimestamp = place.highTimestamp;
        if (!isListed) writer.listedAt = nowMs;
        return { status: 'stored', seq: place.seq };
      }
    }
    const { outcome, writer: found } = this.#connection.write(() => this.#appendAnywhere(append, text, end, writer));
    // The position is remembered only after the commit, which may fail.
    if (lease && found) leases.remember(lease, found);
    return outcome;
  }

  /** Appends an event, even if its session is locked. Called inside a transaction that is rolled back. @throws SizeLimitError */
  check(check: AppendCheck): void {
    const { events, state } = this.#parts;
    const { appName, userId, event, nowMs, writes } = check;
    const text = events.toText(event);
    const row = findSession(this.#sql, check);
    if (!row) return;
    const { pk, last_seq: lastSeq, epoch } = row;
    events.insert({ pk, seq: lastSeq + 1, highTimestamp: event.timestamp }, event, text, nowMs, epoch);
    state.write(appName, userId, pk, writes);
  }

  /** Appends events in one transaction. @throws SizeLimitError and InvalidEventError, with nothing changed */
  appendAll(appends: readonly EventAppend[]): AppendOutcome[] {
    const { events, leases } = this.#parts;
    const texts = appends.map(({ event }) => events.toText(event));
    const lease = appends[0]?.lease;
    const writer = lease && leases.writerOf(lease);
    const found = this.#connection.write(() => {
      const done: AppendResult[] = [];
      for (const [index, append] of appends.entries()) {
        const result = this.#appendAnywhere(append, texts[index] ?? '', undefined, writer);
        done.push(result);
        if (result.outcome.status !== 'stored' && result.outcome.status !== 'duplicate') break;
      }
      return done;
    });
    const last = found.findLast((result) => result.writer)?.writer;
    if (lease && last) leases.remember(lease, last);
    return found.map(({ outcome }) => outcome);
  }

  /**
   * Appends the first event of a run, under the lease that was just granted. Called inside a transaction.
   * @param row the session before the append
   * @returns the stored event of this id if the session has one; then nothing is appended
   */
  appendMessage(
    { appName, userId, nowMs }: RunClaim,
    lease: SessionLease,
    row: SessionRow,
    { event, writes }: RunMessage,
  ): Event | undefined {
    const { events, leases, listing } = this.#parts;
    const { pk } = row;
    const highTimestamp = nextHighTimestamp(row.high_timestamp ?? -Infinity, event.timestamp);
    const place = { pk, seq: row.last_seq + 1, lastId: row.last_id, highTimestamp };
    const isListed = listing.isCurrent(row.listed_at, nowMs);
    const append = { appName, userId, event, writes, nowMs };
    if (!this.#appendNext(append, lease, place, events.toText(event), isListed)) return events.find(pk, event.id);
    const listedAt = isListed ? row.listed_at : nowMs;
    leases.remember(lease, { pk, lastSeq: place.seq, lastId: event.id, highTimestamp, listedAt });
    return undefined;
  }

  /**
   * Appends at a known position. Returns false and changes nothing if the lease is not live, the event's id or number
   * is taken, or the session lacks the event before.
   */
  #appendNext(
    { appName, userId, event, writes, nowMs }: Pick<EventAppend, 'appName' | 'userId' | 'event' | 'writes' | 'nowMs'>,
    { epoch }: SessionLease,
    place: NextPlace,
    text: string,
    isListed: boolean,
  ): boolean {
    const { events, listing, state } = this.#parts;
    if (!events.insertUnderLease(place, event, text, nowMs, epoch)) return false;
    if (!isListed) listing.update(place.pk, nowMs);
    state.write(appName, userId, place.pk, writes);
    return true;
  }

  /**
   * Appends after reading the session; the outcome has the reason if nothing is appended.
   * @param known the position of the lease, if it is known: an append over a gap is refused
   */
  #appendAnywhere(
    append: EventAppend,
    text: string,
    end: RunEnd | undefined,
    known: SessionWriter | undefined,
  ): AppendResult {
    const { events, state, listing, leases } = this.#parts;
    const { appName, userId, sessionId, event, nowMs, lease } = append;
    const row = findSession(this.#sql, append);
    if (!row || String(row.pk) !== append.incarnation) return { outcome: { status: 'missing' } };
    const { pk, epoch } = row;
    const held = row.free_at > 0;
    const isStale =
      lease !== undefined &&
      !(held && epoch === lease.epoch && (!known || events.has(pk, known.lastSeq, known.lastId)));
    if (isStale && !end) return { outcome: { status: 'stale' } };
    if (!lease && held && row.free_at > nowMs) return { outcome: { status: 'busy', freeAtMs: row.free_at } };
    const duplicate = events.find(pk, event.id);
    if (duplicate) {
      if (end && !isStale) leases.release(end.lease, end.keepRunOpen, end);
      return { outcome: { status: 'duplicate', event: duplicate, lastSeq: row.last_seq } };
    }
    if (isStale) return { outcome: { status: 'stale' } };
    const seq = row.last_seq + 1;
    const highTimestamp = nextHighTimestamp(row.high_timestamp ?? -Infinity, event.timestamp);
    events.insert({ pk, seq, highTimestamp }, event, text, nowMs, epoch);
    state.write(appName, userId, pk, append.writes);
    const isListed = listing.isCurrent(row.listed_at, nowMs);
    if (!isListed) listing.update(pk, nowMs);
    if (end) leases.release(end.lease, end.keepRunOpen, end);
    else if (!lease && held) leases.release({ appName, userId, sessionId, epoch }, true);
    const listedAt = isListed ? row.listed_at : nowMs;
    return {
      outcome: { status: 'stored', seq },
      writer: { pk, lastSeq: seq, lastId: event.id, highTimestamp, listedAt },
    };
  }
}
