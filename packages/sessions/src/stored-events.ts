import type { Event } from '@eventloom/core';
import type { EventWindow } from './session-driver.ts';

/** Below so many events a scan finds an id sooner than an index pays for itself. */
const INDEX_FROM = 16;

/** A session's events in memory, by reference: the event at index `n` has the sequence number `n + 1`. */
export class StoredEvents {
  readonly #events: Event[] = [];
  #ids: Set<string> | undefined;
  /** True as long as no event is older than the one before it. */
  #ordered = true;
  #highest = -Infinity;

  get length(): number {
    return this.#events.length;
  }

  add(event: Event): void {
    if (event.timestamp < this.#highest) this.#ordered = false;
    else this.#highest = event.timestamp;
    this.#events.push(event);
    if (this.#ids) this.#ids.add(event.id);
    else if (this.#events.length >= INDEX_FROM) this.#ids = new Set(this.#events.map(({ id }) => id));
  }

  find(id: string): Event | undefined {
    if (this.#ids && !this.#ids.has(id)) return undefined;
    return this.#events.find((event) => event.id === id);
  }

  /** A new list; its cost is what it gives, unless timestamps are out of order. */
  read({ afterSeq, afterTimestamp, limit }: EventWindow): Event[] {
    let start = afterSeq;
    if (afterTimestamp === undefined) {
      if (limit !== undefined) start = Math.max(start, this.#events.length - limit);
      return this.#events.slice(start);
    }
    if (this.#ordered) {
      start = Math.max(start, this.#firstAt(afterTimestamp));
      if (limit !== undefined) start = Math.max(start, this.#events.length - limit);
      return this.#events.slice(start);
    }
    const found = this.#events.slice(start).filter(({ timestamp }) => timestamp >= afterTimestamp);
    return limit === undefined ? found : found.slice(Math.max(0, found.length - limit));
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
