import type { Event } from '@eventloom/core';
import type { EventWindow } from './session-driver.ts';

/** Below so many events a scan finds an id sooner than an index pays for itself. */
const INDEX_FROM = 16;

/** Where the compactions of a session are, and the end of what they cover, in seconds. */
interface Compactions {
  readonly indexes: number[];
  end: number;
}

/** A session's events in memory, by reference: the event at index `n` has the sequence number `n + 1`. */
export class StoredEvents {
  readonly #events: Event[] = [];
  #ids: Set<string> | undefined;
  /** True as long as no event is older than the one before it. */
  #ordered = true;
  #highest = -Infinity;
  #compactions: Compactions | undefined;

  get length(): number {
    return this.#events.length;
  }

  add(event: Event): void {
    if (event.timestamp < this.#highest) this.#ordered = false;
    else this.#highest = event.timestamp;
    const { compaction } = event.actions;
    if (compaction) {
      this.#compactions ??= { indexes: [], end: -Infinity };
      this.#compactions.indexes.push(this.#events.length);
      this.#compactions.end = Math.max(this.#compactions.end, compaction.endTimestamp);
    }
    this.#events.push(event);
    if (this.#ids) this.#ids.add(event.id);
    else if (this.#events.length >= INDEX_FROM) this.#ids = new Set(this.#events.map(({ id }) => id));
  }

  find(id: string): Event | undefined {
    if (this.#ids && !this.#ids.has(id)) return undefined;
    return this.#events.find((event) => event.id === id);
  }

  /** A new list; its cost is what it gives, unless timestamps are out of order. */
  read(window: EventWindow): Event[] {
    const end = Math.min(this.#events.length, (window.beforeSeq ?? Infinity) - 1);
    if (window.sinceCompaction && this.#compactions) return this.#readSinceCompaction(this.#compactions, window, end);
    return this.#readTimes(window, end);
  }

  #readTimes({ afterSeq, afterTimestamp, limit }: EventWindow, end: number): Event[] {
    if (afterTimestamp === undefined) return this.#slice(afterSeq, end, limit);
    if (this.#ordered) return this.#slice(Math.max(afterSeq, this.#firstAt(afterTimestamp)), end, limit);
    return newest(
      this.#slice(afterSeq, end).filter(({ timestamp }) => timestamp >= afterTimestamp),
      limit,
    );
  }

  #readSinceCompaction({ indexes, end: covered }: Compactions, window: EventWindow, end: number): Event[] {
    const { afterSeq, afterTimestamp = -Infinity, limit } = window;
    const from = this.#ordered ? this.#firstAt(covered) : 0;
    const found: Event[] = [];
    const add = (index: number, after: number): void => {
      const event = this.#events[index];
      if (event && index >= afterSeq && index < end && event.timestamp > after && event.timestamp >= afterTimestamp)
        found.push(event);
    };
    for (const index of indexes) if (index < from) add(index, -Infinity);
    for (let index = from; index < end; index++) add(index, isCompaction(this.#events[index]) ? -Infinity : covered);
    return newest(found, limit);
  }

  #slice(start: number, end: number, limit = Infinity): Event[] {
    const from = Math.max(start, end - limit);
    return from < end ? this.#events.slice(from, end) : [];
  }

  /** Index of the first event at or after a time, by bisection. */
  #firstAt(timestamp: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.timestamp ?? Infinity) < timestamp) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function newest(events: Event[], limit: number | undefined): Event[] {
  return limit === undefined ? events : events.slice(Math.max(0, events.length - limit));
}

function isCompaction(event: Event | undefined): boolean {
  return Boolean(event?.actions.compaction);
}
