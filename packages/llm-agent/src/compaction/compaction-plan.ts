import { createEvent, type Event } from '@eventloom/core';
import { enclosureOf } from '@eventloom/core/internal';
import { type EffectiveHistory, isInRange, isWithin, type PlacedCompaction } from './effective-history.ts';
import { settledPrefix } from './settled-prefix.ts';

/** The events to summarize, and the range that the summary covers. */
export interface CompactionPlan {
  readonly events: readonly Event[];
  readonly startTimestamp: number;
  readonly endTimestamp: number;
}

/** Covered events that are summed up again, and those before them as far as they were read. */
export interface Overlap {
  readonly events: readonly Event[];
  readonly before: readonly Event[];
}

const NO_OVERLAP: Overlap = { events: [], before: [] };

/** One summary of all but the newest `retained` events, in place of those there are. Undefined when it would change nothing. */
export function planWhole(
  events: readonly Event[],
  history: EffectiveHistory,
  retained: number,
): CompactionPlan | undefined {
  const { uncovered, summaries } = history;
  const prefix = prefixOf(events, history, Math.max(0, uncovered.length - retained));
  if (prefix.events.length === 0 && summaries.length < 2) return undefined;
  // The summaries that were rewound as well: what reads from the last compaction on still finds them.
  const starts = events.flatMap(({ actions }) => actions.compaction?.startTimestamp ?? []);
  const range = { startTimestamp: earliest(prefix.events, starts), endTimestamp: prefix.endTimestamp };
  // What others dated into the middle of their summaries cannot be told apart from what those stand for.
  const rest = uncovered.slice(prefix.events.length);
  if (rest.some((position) => isInRange(events[position] as Event, range))) return undefined;
  return { ...range, events: [...summaries.map(toSeed), ...told(prefix.events)] };
}

/**
 * A summary beside those there are: of all events that none stands for, and of the overlap. A summary that the new one would
 * replace is part of it. Undefined when nothing is settled.
 */
export function planWindow(
  events: readonly Event[],
  history: EffectiveHistory,
  overlap: Overlap = NO_OVERLAP,
): CompactionPlan | undefined {
  const prefix = prefixOf(events, history, history.uncovered.length);
  if (prefix.events.length === 0) return undefined;
  const { endTimestamp } = prefix;
  const range = { startTimestamp: earliest([...overlap.events, ...prefix.events]), endTimestamp };
  // A rewound summary would count again for a reader that starts at this one.
  if (events.some((event, position) => isLeftOver(event, position, history, range)))
    return planWhole(events, history, 0);
  const replaced = history.summaries.filter((summary) => isWithin(summary, range) && !isWholly(overlap, summary));
  return { ...range, events: [...replaced.map(toSeed), ...told([...overlap.events, ...prefix.events])] };
}

function prefixOf(
  events: readonly Event[],
  { uncovered, summaries }: EffectiveHistory,
  atMost: number,
): { readonly events: readonly Event[]; readonly endTimestamp: number } {
  const coveredUntil = summaries.reduce((latest, summary) => Math.max(latest, summary.endTimestamp), -Infinity);
  const { count, endTimestamp } = settledPrefix({ events, positions: uncovered, atMost, coveredUntil });
  return { events: uncovered.slice(0, count).map((position) => events[position] as Event), endTimestamp };
}

function earliest(events: readonly Event[], starts: readonly number[] = []): number {
  const first = starts.reduce((least, start) => Math.min(least, start), Infinity);
  return events.reduce((least, { timestamp }) => Math.min(least, timestamp), first);
}

/** True for a compaction that was rewound, unless some summary or the new range is wider. */
function isLeftOver(
  { actions: { compaction } }: Event,
  position: number,
  { summaries }: EffectiveHistory,
  range: Pick<CompactionPlan, 'startTimestamp' | 'endTimestamp'>,
): boolean {
  if (!compaction || isWithin(compaction, range)) return false;
  return !summaries.some((summary) => summary.position >= position && isWithin(compaction, summary));
}

/** True when all that the summary stands for is summed up again. */
function isWholly({ events, before }: Overlap, summary: PlacedCompaction): boolean {
  const isTold = (event: Event): boolean => isInRange(event, summary);
  return events.some(isTold) && !before.some(isTold);
}

/**
 * Returns the events for the summarizer. Events of agents that were called as tools are left out: their results are in
 * the responses.
 */
function told(events: readonly Event[]): Event[] {
  return events.filter(({ branch, partial }) => partial !== true && enclosureOf(branch) === '');
}

/** An earlier summary as the first thing that the next one tells of. */
function toSeed({ startTimestamp, compactedContent }: PlacedCompaction): Event {
  return createEvent({
    author: 'model',
    timestamp: startTimestamp,
    content: { role: 'model', ...compactedContent },
  });
}
