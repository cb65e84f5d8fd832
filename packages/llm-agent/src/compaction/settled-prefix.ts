import type { Event } from '@eventloom/core';
import { type SessionCall, Calls, enclosureOf } from '@eventloom/core/internal';

/** Number of later invocations after which a resumable run no longer blocks compaction: most cancelled runs are never resumed. */
const WAITS_FOR_INVOCATIONS = 10;

/** A list of events, the indexes to examine in it, and the time up to which summaries cover all events. */
interface PrefixRequest {
  readonly events: readonly Event[];
  /** Indexes into `events`, in ascending order. */
  readonly indexes: readonly number[];
  /** Maximum number of these indexes in the prefix. */
  readonly atMost: number;
  /** Time in seconds up to which summaries cover all events; -Infinity without a summary. */
  readonly coveredUntil: number;
}

/** The number of indexes in the prefix, and the latest time of all events up to its end. */
interface SettledPrefix {
  readonly count: number;
  readonly endTimestamp: number;
}

/**
 * Finds the longest prefix that a summary can replace. The prefix ends where
 * - no call is separated from its responses, and no long-running call waits for its first response;
 * - no invocation is split, and none of the last invocations in it can still be resumed;
 * - every later event, rewound events included, has a later timestamp.
 */
export function settledPrefix({ events, indexes, atMost, coveredUntil }: PrefixRequest): SettledPrefix {
  const needed = placesNeeded(events, indexes);
  const earliestFrom = earliestTimes(events);
  let settled: SettledPrefix = { count: 0, endTimestamp: coveredUntil };
  let reach = -1;
  let latest = coveredUntil;
  let from = 0;
  for (let place = 0; place < atMost; place++) {
    const index = indexes[place] as number;
    for (; from <= index; from++) latest = Math.max(latest, timeOf(events[from]));
    reach = Math.max(reach, needed[place] ?? place);
    if (reach <= place && latest < (earliestFrom[index + 1] ?? Infinity))
      settled = { count: place + 1, endTimestamp: latest };
  }
  return settled;
}

/** The event's time in seconds; -Infinity for a compaction, because readers use it independent of its time. */
function timeOf(event: Event | undefined): number {
  return event === undefined || event.actions.compaction ? -Infinity : event.timestamp;
}

/** Returns for each index the earliest timestamp of the events from there to the end, in seconds. */
function earliestTimes(events: readonly Event[]): Float64Array {
  const earliest = new Float64Array(events.length + 1).fill(Infinity);
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index] as Event;
    const time = event.actions.compaction ? Infinity : event.timestamp;
    earliest[index] = Math.min(time, earliest[index + 1] ?? Infinity);
  }
  return earliest;
}

/**
 * Returns for each place in `indexes` the last place that must be in the same prefix; Infinity if a response or the end
 * of a run is still missing.
 */
function placesNeeded(events: readonly Event[], indexes: readonly number[]): number[] {
  const needed = indexes.map((_, place) => place);
  const begun = new Map<string, number>();
  // Its `eventIndex` is a place in `indexes`, because it reads only these events.
  const calls = new Calls();
  const reach = (first: number, last: number): void => void (needed[first] = Math.max(needed[first] ?? first, last));
  for (const [place, index] of indexes.entries()) {
    const event = events[index] as Event;
    const first = begun.get(event.invocationId);
    if (first === undefined) begun.set(event.invocationId, place);
    else reach(first, place);
    calls.add(event);
  }
  const isSeen = ({ event }: SessionCall): boolean => enclosureOf(event.branch) === '';
  for (const call of calls.all.filter(isSeen))
    for (const { eventIndex } of call.responses) reach(call.eventIndex, eventIndex);
  // Any other call without a response was interrupted, and will never have one.
  for (const { eventIndex } of calls.waiting.filter(isSeen)) needed[eventIndex] = Infinity;
  for (const [invocationId, place] of [...begun].slice(-1 - WAITS_FOR_INVOCATIONS))
    if (calls.canContinue(invocationId)) needed[place] = Infinity;
  return needed;
}
