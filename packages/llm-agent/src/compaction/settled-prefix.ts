import type { Event } from '@eventloom/core';
import { type RecordedCall, Calls, enclosureOf } from '@eventloom/core/internal';

/** Number of later invocations after which a resumable run no longer blocks compaction: most cancelled runs are never resumed. */
const WAITS_FOR_INVOCATIONS = 10;

/** A list of events, the positions to examine in it, and the time up to which summaries cover all events. */
export interface PrefixRequest {
  readonly events: readonly Event[];
  /** Indexes into `events`, in ascending order. */
  readonly positions: readonly number[];
  /** Maximum number of positions in the prefix. */
  readonly atMost: number;
  /** Time in seconds up to which summaries cover all events; -Infinity without a summary. */
  readonly coveredUntil: number;
}

/** The number of positions in the prefix, and the latest time of all events up to its end. */
export interface SettledPrefix {
  readonly count: number;
  readonly endTimestamp: number;
}

/**
 * Finds the longest prefix that a summary can replace. The prefix ends where
 * - no call is separated from its responses, and no long-running call waits for its first response;
 * - no invocation is split, and none of the last invocations in it can still be resumed;
 * - every later event, rewound events included, has a later timestamp.
 */
export function settledPrefix({ events, positions, atMost, coveredUntil }: PrefixRequest): SettledPrefix {
  const needed = positionsNeeded(events, positions);
  const earliestFrom = earliestTimes(events);
  let settled: SettledPrefix = { count: 0, endTimestamp: coveredUntil };
  let reach = -1;
  let latest = coveredUntil;
  let from = 0;
  for (let index = 0; index < atMost; index++) {
    const position = positions[index] as number;
    for (; from <= position; from++) latest = Math.max(latest, timeOf(events[from]));
    reach = Math.max(reach, needed[index] ?? index);
    if (reach <= index && latest < (earliestFrom[position + 1] ?? Infinity))
      settled = { count: index + 1, endTimestamp: latest };
  }
  return settled;
}

/** The event's time in seconds; -Infinity for a compaction, because readers use it whatever its time is. */
function timeOf(event: Event | undefined): number {
  return event === undefined || event.actions.compaction ? -Infinity : event.timestamp;
}

/** Returns for each position the earliest timestamp of the events from there to the end, in seconds. */
function earliestTimes(events: readonly Event[]): Float64Array {
  const earliest = new Float64Array(events.length + 1).fill(Infinity);
  for (let position = events.length - 1; position >= 0; position--) {
    const event = events[position] as Event;
    const time = event.actions.compaction ? Infinity : event.timestamp;
    earliest[position] = Math.min(time, earliest[position + 1] ?? Infinity);
  }
  return earliest;
}

/** Returns for each index the last index that must be in the same prefix; Infinity if a response or the end of a run is still missing. */
function positionsNeeded(events: readonly Event[], positions: readonly number[]): number[] {
  const needed = positions.map((_, index) => index);
  const begun = new Map<string, number>();
  const calls = new Calls();
  const reach = (first: number, last: number): void => void (needed[first] = Math.max(needed[first] ?? first, last));
  for (const [index, position] of positions.entries()) {
    const event = events[position] as Event;
    const first = begun.get(event.invocationId);
    if (first === undefined) begun.set(event.invocationId, index);
    else reach(first, index);
    calls.add(event);
  }
  const isSeen = ({ event }: RecordedCall): boolean => enclosureOf(event.branch) === '';
  for (const call of calls.all.filter(isSeen))
    for (const { position } of call.responses) reach(call.position, position);
  // Any other call without a response was interrupted, and will never have one.
  for (const { position } of calls.waiting.filter(isSeen)) needed[position] = Infinity;
  for (const [invocationId, index] of [...begun].slice(-1 - WAITS_FOR_INVOCATIONS))
    if (calls.canContinue(invocationId)) needed[index] = Infinity;
  return needed;
}
