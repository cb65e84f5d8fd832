import type { Content, Event, EventCompaction } from '@eventloom/core';
import { newestEntries } from '@eventloom/core/internal';

/** A compaction, and the index of its event in the list. */
export interface PlacedCompaction extends EventCompaction {
  readonly index: number;
}

/** The events of a list that are neither rewound nor replaced, by their index in the list. */
export interface EffectiveHistory {
  /** The events that no summary covers, in order. Rewind and compaction events are not among them. */
  readonly uncovered: readonly number[];
  /** The compactions that are in force, by time. */
  readonly summaries: readonly PlacedCompaction[];
  /** The events of the list that a summary covers, in order. */
  readonly covered: readonly number[];
}

/** A summary in place of the events it covers. */
interface Summary {
  readonly summary: Content;
}

/**
 * Returns the effective events in order: rewound events are removed, and summaries replace the events they cover. The result is the same
 * whether or not the covered events are in the list.
 * @param resumedId an invocation that is resumed: its events are kept, after the summary that covers them
 */
export function effectiveEvents(events: readonly Event[], resumedId?: string): (Event | Summary)[] {
  const { uncovered, summaries } = effectiveHistory(events, resumedId);
  const effective: (Event | Summary)[] = [];
  let next = 0;
  for (const index of uncovered) {
    const event = events[index] as Event;
    for (let range = summaries[next]; range && isBefore(range, event, index); range = summaries[++next]) {
      effective.push(toSummary(range));
    }
    effective.push(event);
  }
  for (const range of summaries.slice(next)) effective.push(toSummary(range));
  return effective;
}

/**
 * Computes the effective history: removes rewound events and summaries, then each summary whose range lies inside that of a later one.
 * @param resumedId an invocation that is resumed: its events count as not covered
 */
export function effectiveHistory(events: readonly Event[], resumedId?: string): EffectiveHistory {
  const kept = Array.from(newestEntries(events), ([index]) => index).reverse();
  const ranges: PlacedCompaction[] = [];
  for (const index of kept) {
    const compaction = events[index]?.actions.compaction;
    if (compaction) ranges.push({ ...compaction, index });
  }
  const summaries = ranges
    .filter((range) => !ranges.some((other) => other.index > range.index && isWithin(range, other)))
    .sort((a, b) => a.startTimestamp - b.startTimestamp || a.endTimestamp - b.endTimestamp || a.index - b.index);
  const uncovered: number[] = [];
  const covered: number[] = [];
  for (const index of kept) {
    const event = events[index] as Event;
    if (event.actions.compaction) continue;
    const isCovered =
      event.invocationId !== resumedId && summaries.some((range) => index < range.index && isInRange(event, range));
    (isCovered ? covered : uncovered).push(index);
  }
  return { uncovered, summaries, covered };
}

/** Returns true if the outer range contains the inner one. */
export function isWithin(inner: Readonly<TimeRange>, outer: Readonly<TimeRange>): boolean {
  return outer.startTimestamp <= inner.startTimestamp && outer.endTimestamp >= inner.endTimestamp;
}

/** Returns true if the event's time is in the range, bounds included. */
export function isInRange({ timestamp }: Event, range: Readonly<TimeRange>): boolean {
  return timestamp >= range.startTimestamp && timestamp <= range.endTimestamp;
}

type TimeRange = Pick<EventCompaction, 'startTimestamp' | 'endTimestamp'>;

/** Returns true if the summary comes before the event in the contents. */
function isBefore({ startTimestamp, index }: PlacedCompaction, event: Event, eventIndex: number): boolean {
  return index < eventIndex || event.timestamp >= startTimestamp;
}

function toSummary({ compactedContent }: EventCompaction): Summary {
  return { summary: { role: 'model', ...compactedContent } };
}
