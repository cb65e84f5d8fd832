import type { Event } from '@eventloom/core';
import { type RecordedCall, Calls, enclosureOf } from '@eventloom/core/internal';

/** A run that can be resumed is waited for until more invocations than this came after it: most that were cancelled never are. */
const WAITS_FOR_INVOCATIONS = 10;

/** A list of events, those of them that are looked at, and a time up to which all is covered already. */
export interface PrefixRequest {
  readonly events: readonly Event[];
  /** Positions in the list, in order. */
  readonly positions: readonly number[];
  /** At most so many of the positions are taken. */
  readonly atMost: number;
  /** Seconds; -Infinity for none. */
  readonly coveredUntil: number;
}

/** The number of positions in the prefix, and the latest time of all events up to its end. */
export interface SettledPrefix {
  readonly count: number;
  readonly endTimestamp: number;
}

/**
 * The longest prefix that can be put behind a time: no call is parted from its responses, no long-running call in it waits for its
 * first one, no invocation is cut in two, none of the last invocations in it can still be resumed, and everything behind it is later
 * than everything in it, rewound events included.
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

/** A compaction's own time says nothing: it is read whatever it is. */
function timeOf(event: Event | undefined): number {
  return event === undefined || event.actions.compaction ? -Infinity : event.timestamp;
}

/** For each position of the list, the earliest time from there on. */
function earliestTimes(events: readonly Event[]): Float64Array {
  const earliest = new Float64Array(events.length + 1).fill(Infinity);
  for (let position = events.length - 1; position >= 0; position--) {
    const event = events[position] as Event;
    const time = event.actions.compaction ? Infinity : event.timestamp;
    earliest[position] = Math.min(time, earliest[position + 1] ?? Infinity);
  }
  return earliest;
}

/** For each index, the last one that has to go with it; Infinity if what it waits for is still to come. */
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
    if (calls.isRunOpen(invocationId)) needed[index] = Infinity;
  return needed;
}
