import type { Event } from '@eventloom/core';

/** The most events of a page: so many may turn out to be heavy after light ones. */
const MAX_EVENTS = 64;
const FIRST_EVENTS = 8;
/** What a page should weigh at most, in characters. */
const MAX_WEIGHT = 4_000_000;

/** How many events to read next, so that a page weighs about the same whatever its events do: they may be of 100 bytes or of 10 MB. */
export class EventPageSize {
  #events = FIRST_EVENTS;

  get events(): number {
    return this.#events;
  }

  /** Counts on the next events to weigh what these do; more than twice as many are not read on the strength of that. */
  adapt(page: readonly Event[]): void {
    let weight = 0;
    for (const event of page) weight += weigh(event);
    const fitting = Math.floor((page.length * MAX_WEIGHT) / weight);
    this.#events = Math.max(1, Math.min(fitting, this.#events * 2, MAX_EVENTS));
  }
}

/** About how many characters a value is as JSON. */
function weigh(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  let weight = 2;
  if (Array.isArray(value)) {
    for (const item of value) weight += weigh(item);
  } else {
    for (const key in value) weight += key.length + weigh((value as Readonly<Record<string, unknown>>)[key]);
  }
  return weight;
}
