import { type Event, InvalidEventError } from '@eventloom/core';
import type { EventWindow } from '../session-driver.ts';
import { withinLimit } from './size-limit.ts';
import type { SqlRow } from './sql-connection.ts';
import type { SessionRow, Statements } from './statements.ts';

/** Where timestamps are out of order, the events that are still missing from a window are looked for so many at a time. */
const BLOCK = 64;

/** The events of a session: sequence numbers without a gap, each with the latest time up to it. Called inside a transaction. */
export class SqlEvents {
  readonly #sql: Statements;
  readonly #maxBytes: number;

  constructor(sql: Statements, maxBytes: number) {
    this.#sql = sql;
    this.#maxBytes = maxBytes;
  }

  /**
   * An event as it is stored.
   * @throws InvalidEventError for one that is no JSON, and SizeLimitError
   */
  toJson(event: Event): string {
    let json: string;
    try {
      json = JSON.stringify(event);
    } catch (cause) {
      throw new InvalidEventError(`event ${JSON.stringify(event.id)} is not JSON`, { cause });
    }
    return withinLimit(json, this.#maxBytes, 'event', event.id);
  }

  /** The event of this id; undefined when there is none. */
  find(pk: number, eventId: string): Event | undefined {
    const row = this.#sql.eventById.get(pk, eventId);
    return row && parse(row);
  }

  /** Costs what it gives, and a search by bisection, unless timestamps are out of order. */
  read({ pk, last_seq }: SessionRow, window: EventWindow): Event[] {
    const { beforeSeq = Infinity, afterTimestamp, sinceCompaction, limit = Infinity } = window;
    const last = Math.min(beforeSeq - 1, last_seq);
    let first = window.afterSeq + 1;
    if (limit === 0 || first > last) return [];
    const covered = sinceCompaction ? this.#coveredUntil(pk) : undefined;
    if (afterTimestamp === undefined && covered === undefined) {
      return this.#range(pk, Math.max(first, last - limit + 1), last);
    }
    const earliest = afterTimestamp ?? -Infinity;
    if (afterTimestamp !== undefined) first = this.#search(pk, first, last, (high) => high >= earliest);
    if (covered === undefined) return this.#newest(pk, first, last, limit, ({ timestamp }) => timestamp >= earliest);
    const uncovered = this.#search(pk, first, last, (high) => high > covered);
    const counts = ({ timestamp, actions }: Event): boolean =>
      timestamp >= earliest && (timestamp > covered || actions.compaction !== undefined);
    const events = this.#newest(pk, uncovered, last, limit, counts);
    if (events.length === limit || first >= uncovered) return events;
    return [...this.#compactions(pk, first, uncovered - 1, limit - events.length, counts), ...events];
  }

  /** The end of what compactions of the session cover; undefined without one. */
  #coveredUntil(pk: number): number | undefined {
    const end = this.#sql.compactionEnd.get(pk)?.['compaction_end'];
    return typeof end === 'number' ? end : undefined;
  }

  #range(pk: number, first: number, last: number): Event[] {
    return this.#sql.events.all(pk, first, last).map(parse);
  }

  /** The newest compactions of a range that count. */
  #compactions(pk: number, first: number, last: number, limit: number, counts: (event: Event) => boolean): Event[] {
    const rows = this.#sql.compactions.all(pk, first, last);
    const found = rows.map(parse).filter(counts);
    return limit < found.length ? found.slice(-limit) : found;
  }

  /** The newest events of a range that count. */
  #newest(pk: number, first: number, last: number, limit: number, counts: (event: Event) => boolean): Event[] {
    if (limit === Infinity) return first > last ? [] : this.#range(pk, first, last).filter(counts);
    let found: Event[] = [];
    let end = last;
    for (let size = limit; found.length < limit && end >= first; size = BLOCK) {
      const start = Math.max(first, end - size + 1);
      found = [...this.#range(pk, start, end).filter(counts), ...found];
      end = start - 1;
    }
    return found.slice(-limit);
  }

  /** The first sequence number of a range at which the latest time up to it is high enough; past the range when none is. */
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

function parse(row: SqlRow): Event {
  return JSON.parse(String(row['event'])) as Event;
}
