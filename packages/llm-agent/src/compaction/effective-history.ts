import type { Content, Event, EventCompaction } from '@eventloom/core';
import { newestEntries } from '@eventloom/core/internal';

/** A compaction among events, and where it stands. */
export interface PlacedCompaction extends EventCompaction {
  readonly position: number;
}

/** The events of a list that still count. Events are identified by their index in it. */
export interface EffectiveHistory {
  /** The events that no summary stands for, in order; neither rewinds nor compactions. */
  readonly uncovered: readonly number[];
  /** The compactions whose summaries stand for what they cover, by time. */
  readonly summaries: readonly PlacedCompaction[];
  /** The events that a summary stands for, in order, as far as they are in the list. */
  readonly covered: readonly number[];
}

/** A summary in place of the events it covers. */
export interface Summary {
  readonly summary: Content;
}

/** True when an event changes what earlier ones mean, so that they have to be read again. */
export function rewritesHistory({ actions }: Event): boolean {
  return actions.rewindBeforeInvocationId !== undefined || actions.compaction !== undefined;
}

/**
 * The events that count, in order: without what was rewound, and with summaries in place of what was compacted. It is the same
 * whether what the summaries cover is among the events or was not read.
 * @param goingOn an invocation that is resumed: its events are told as they are, behind a summary that tells of them too
 */
export function effectiveEvents(events: readonly Event[], goingOn?: string): (Event | Summary)[] {
  const { uncovered, summaries } = effectiveHistory(events, goingOn);
  const told: (Event | Summary)[] = [];
  let next = 0;
  for (const position of uncovered) {
    const event = events[position] as Event;
    for (let range = summaries[next]; range && isBefore(range, event, position); range = summaries[++next]) {
      told.push(toSummary(range));
    }
    told.push(event);
  }
  for (const range of summaries.slice(next)) told.push(toSummary(range));
  return told;
}

/**
 * Rewinds first: what was rewound is gone, summaries included. Then a summary inside a later, wider one goes with what it covers.
 * @param goingOn an invocation that no summary stands for, because it is resumed
 */
export function effectiveHistory(events: readonly Event[], goingOn?: string): EffectiveHistory {
  const kept = Array.from(newestEntries(events), ([position]) => position).reverse();
  const ranges: PlacedCompaction[] = [];
  for (const position of kept) {
    const compaction = events[position]?.actions.compaction;
    if (compaction) ranges.push({ ...compaction, position });
  }
  const summaries = ranges
    .filter((range) => !ranges.some((other) => other.position > range.position && isWithin(range, other)))
    .sort((a, b) => a.startTimestamp - b.startTimestamp || a.endTimestamp - b.endTimestamp || a.position - b.position);
  const uncovered: number[] = [];
  const covered: number[] = [];
  for (const position of kept) {
    const event = events[position] as Event;
    if (event.actions.compaction) continue;
    const isCovered =
      event.invocationId !== goingOn && summaries.some((range) => position < range.position && isInRange(event, range));
    (isCovered ? covered : uncovered).push(position);
  }
  return { uncovered, summaries, covered };
}

/** True when one range covers all that the other does. */
export function isWithin(inner: Readonly<TimeRange>, outer: Readonly<TimeRange>): boolean {
  return outer.startTimestamp <= inner.startTimestamp && outer.endTimestamp >= inner.endTimestamp;
}

/** True for an event whose time is in the range. */
export function isInRange({ timestamp }: Event, range: Readonly<TimeRange>): boolean {
  return timestamp >= range.startTimestamp && timestamp <= range.endTimestamp;
}

type TimeRange = Pick<EventCompaction, 'startTimestamp' | 'endTimestamp'>;

/** True when the summary stands before the event. */
function isBefore({ startTimestamp, position }: PlacedCompaction, event: Event, eventPosition: number): boolean {
  return position < eventPosition || event.timestamp >= startTimestamp;
}

function toSummary({ compactedContent }: EventCompaction): Summary {
  return { summary: { role: 'model', ...compactedContent } };
}
