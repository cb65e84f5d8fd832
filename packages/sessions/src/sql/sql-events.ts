import type { Event } from '@eventloom/core';
import { eventToJson } from '../event-json.ts';
import type { EventWindow } from '../session-driver.ts';
import type { RowTexts, SqlRow } from './sql-connection.ts';
import type { SessionRow, SqlStatements } from './statements.ts';

/** Number of rows that are read at once. */
const RANGE = 1000;

/** The position of an event to insert. */
interface EventPlace {
  /** Key of the session. */
  readonly pk: number;
  readonly seq: number;
  /** The high timestamp of the session after the event; see `nextHighTimestamp`. */
  readonly highTimestamp: number;
}

/** The position of an event to insert after the one with an id; null for the first event. */
export interface NextPlace extends EventPlace {
  readonly lastId: string | null;
}

/**
 * Conditions on the timestamps of events to read: later than `later` and at least `from`. With `hasCompactions`, compactions at
 * `from` or later are read too.
 */
interface Times {
  readonly later: number;
  readonly from: number;
  readonly hasCompactions: boolean;
}

/**
 * The events of a session. Their sequence numbers have no gaps. Events are found by bisection as long as timestamps never decrease, and
 * by an index from the first decrease on. Called inside a transaction.
 */
export class SqlEvents {
  readonly #sql: SqlStatements;
  readonly #texts: RowTexts;

  constructor(sql: SqlStatements, texts: RowTexts) {
    this.#sql = sql;
    this.#texts = texts;
  }

  /**
   * Returns the text that is stored for an event.
   * @throws InvalidEventError for an event that is not JSON, and SizeLimitError
   */
  toText(event: Event): string {
    return this.#texts.write(eventToJson(event), 'event', event.id);
  }

  /** Returns the event of this id; undefined if there is none. */
  find(pk: number, eventId: string): Event | undefined {
    const row = this.#sql.eventById.get(pk, eventId);
    return row && this.#toEvent(row);
  }

  /** Stores an event of a session whose latest lease has this epoch. */
  insert(place: EventPlace, event: Event, text: string, nowMs: number, epoch: number): void {
    const { pk, seq, highTimestamp } = place;
    const timestamp = timestampOf(place, event);
    const end = compactionEndOf(event);
    this.#sql.insertEvent.run(pk, seq, event.id, epoch, nowMs, highTimestamp, timestamp, end, text);
  }

  /**
   * Stores an event after the one with the id `lastId`. Returns false and stores nothing if the lease is not live, the
   * event's id or number is taken, or the session lacks that event.
   */
  insertUnderLease(place: NextPlace, event: Event, text: string, nowMs: number, epoch: number): boolean {
    const { pk, seq, highTimestamp, lastId } = place;
    const timestamp = timestampOf(place, event);
    const end = compactionEndOf(event);
    const inserted = this.#sql.insertEventUnderLease.run(
      pk,
      seq,
      event.id,
      epoch,
      nowMs,
      highTimestamp,
      timestamp,
      end,
      text,
      lastId,
    );
    return inserted.changes !== 0;
  }

  /** Returns true if a session has the event at the position of its writer. */
  has(pk: number, seq: number, eventId: string | null): boolean {
    return (this.#sql.eventId.get(pk, seq)?.['event_id'] ?? null) === eventId;
  }

  /** Reads a window. The cost is that of the returned events and one search by bisection or index. */
  read({ pk, last_seq, high_timestamp }: SessionRow, window: EventWindow): Event[] {
    const { beforeSeq = Infinity, afterTimestamp, sinceCompaction, limit = Infinity } = window;
    const last = Math.min(beforeSeq - 1, last_seq);
    const first = window.afterSeq + 1;
    if (limit === 0 || first > last) return [];
    const covered = sinceCompaction ? this.coveredUntil(pk) : undefined;
    if (afterTimestamp === undefined && covered === undefined) {
      return this.#range(pk, Math.max(first, last - limit + 1), last);
    }
    const times = {
      later: covered ?? -Infinity,
      from: afterTimestamp ?? -Infinity,
      hasCompactions: covered !== undefined,
    };
    // The first number from which timestamps are out of order; the number after the range if they are in order.
    const unordered =
      high_timestamp === Infinity ? this.#search(pk, first, last, (high) => high === Infinity) : last + 1;
    const events = unordered > last ? [] : this.#unordered(pk, unordered, last, times, limit);
    if (events.length === limit || unordered === first) return events;
    return [...this.#ordered(pk, first, unordered - 1, times, limit - events.length), ...events];
  }

  /**
   * Counts the events of a window that together have at most this many bytes as JSON: its newest with a limit, otherwise its oldest. Counts
   * by number and ignores the window's times. Returns at least 1, because a larger event is read alone.
   */
  countWithin({ pk, last_seq }: SessionRow, window: EventWindow, maxBytes: number): number {
    const { afterSeq, beforeSeq = Infinity, limit } = window;
    const last = Math.min(beforeSeq - 1, last_seq);
    const first = Math.max(afterSeq + 1, last - (limit ?? Infinity) + 1);
    const isNewest = limit === undefined ? 0 : 1;
    return Math.max(1, Number(this.#sql.eventsWithin.get(pk, first, last, maxBytes, isNewest)?.['count']));
  }

  /** Reads like `read`, but only as many events as `countWithin` allows. */
  readPage(row: SessionRow, window: EventWindow, maxChars: number): Event[] {
    const { afterSeq, limit } = window;
    const count = this.countWithin(row, window, maxChars);
    const part = limit === undefined ? { beforeSeq: afterSeq + count + 1 } : { limit: Math.min(limit, count) };
    return this.read(row, { ...window, ...part });
  }

  readonly #toEvent = ({ event }: SqlRow): Event => this.#texts.read(event) as Event;

  /** Returns the end of the compacted time range, in seconds since the epoch; undefined without a compaction. */
  coveredUntil(pk: number): number | undefined {
    const end = this.#sql.compactionEnd.get(pk)?.['compaction_end'];
    return typeof end === 'number' ? end : undefined;
  }

  /** Reads a long range in parts, so that not all of its rows are in memory at once. */
  #range(pk: number, first: number, last: number): Event[] {
    const events: Event[] = [];
    for (let from = first; from <= last; from += RANGE) {
      const rows = this.#sql.events.all(pk, from, Math.min(from + RANGE - 1, last));
      for (const row of rows) events.push(this.#toEvent(row));
    }
    return events;
  }

  /** Reads the newest events that meet the times, from a range whose timestamps are in order. */
  #ordered(pk: number, first: number, last: number, { later, from, hasCompactions }: Times, limit: number): Event[] {
    const start = this.#search(pk, first, last, (high) => high > later && high >= from);
    const events = start > last ? [] : this.#range(pk, Math.max(start, last - limit + 1), last);
    if (!hasCompactions || events.length === limit || start === first) return events;
    const most = Math.min(limit - events.length, last);
    const compactions = this.#sql.compactions.all(pk, first, start - 1, from, most).map(this.#toEvent);
    return [...compactions, ...events];
  }

  /** Reads the newest events that meet the times, from a range whose timestamps are out of order. */
  #unordered(pk: number, first: number, last: number, times: Times, limit: number): Event[] {
    const { later, from, hasCompactions } = times;
    if (limit <= last - first) {
      // The index would read all events in the time range to find the newest of them.
      const counts = ({ timestamp, actions }: Event): boolean =>
        timestamp >= from && (timestamp > later || (hasCompactions && actions.compaction !== undefined));
      const newest = this.#range(pk, last - limit + 1, last);
      if (newest.every(counts)) return newest;
    }
    const most = Math.min(limit, last);
    return this.#sql.timedEvents.all(pk, first, last, later, from, hasCompactions ? 1 : 0, most).map(this.#toEvent);
  }

  /** Returns the first sequence number of a range whose high timestamp is late enough; the number after the range if there is none. */
  #search(pk: number, first: number, last: number, isEnough: (highTimestamp: number) => boolean): number {
    let low = first;
    let end = last + 1;
    while (low < end) {
      const middle = Math.floor((low + end) / 2);
      if (isEnough(Number(this.#sql.highTimestamp.get(pk, middle)?.['high_timestamp']))) end = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Returns the timestamp to store of an event: only from the first on that is out of order. */
function timestampOf({ highTimestamp }: EventPlace, { timestamp }: Event): number | null {
  return highTimestamp === Infinity ? timestamp : null;
}

function compactionEndOf({ actions }: Event): number | null {
  return actions.compaction?.endTimestamp ?? null;
}

/**
 * Returns the high timestamp of an event after one with the given high timestamp: its own timestamp as long as timestamps
 * never decrease, and infinity afterwards.
 */
export function nextHighTimestamp(highTimestamp: number, timestamp: number): number {
  return timestamp >= highTimestamp ? timestamp : Infinity;
}
