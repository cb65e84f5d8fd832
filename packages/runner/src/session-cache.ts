import type { Event } from '@eventloom/core';
import type { EventPlaces } from './history-reader.ts';

/** What is kept of a session between runs: its events, as long as the last one kept is the last one stored. */
export interface CachedEvents {
  readonly incarnation: string;
  readonly lastSeq: number;
  readonly events: Event[];
  /** What agents computed from the events; see `Invocation.derived`. */
  readonly derived: Map<unknown, unknown>;
  readonly places: EventPlaces | undefined;
}

/** Limits of what a runner remembers of its sessions between runs. */
export interface SessionCacheOptions {
  /** Default 1,000. */
  readonly maxSessions?: number;
  /** Events of all these sessions together. Default 250,000. */
  readonly maxEvents?: number;
}

/**
 * The events of recent sessions, so that a turn reads none of them again. Bounded by sessions and by events; the least recently
 * used goes first. An entry is taken out while a run works on it.
 */
export class SessionCache {
  readonly #entries = new Map<string, CachedEvents>();
  readonly #maxSessions: number;
  readonly #maxEvents: number;
  #eventCount = 0;

  constructor({ maxSessions = 1000, maxEvents = 250_000 }: SessionCacheOptions = {}) {
    this.#maxSessions = maxSessions;
    this.#maxEvents = maxEvents;
  }

  /** Returns a session's events without taking them out. */
  peek(key: string): CachedEvents | undefined {
    return this.#entries.get(key);
  }

  /** Takes a session's events out. */
  take(key: string): CachedEvents | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#eventCount -= entry.events.length;
    return entry;
  }

  /** Keeps a session's events, and drops the ones used least recently when there are too many. */
  put(key: string, entry: CachedEvents): void {
    this.take(key);
    if (entry.events.length > this.#maxEvents || this.#maxSessions <= 0) return;
    this.#entries.set(key, entry);
    this.#eventCount += entry.events.length;
    for (const [oldest] of this.#entries) {
      if (this.#entries.size <= this.#maxSessions && this.#eventCount <= this.#maxEvents) return;
      this.take(oldest);
    }
  }
}
