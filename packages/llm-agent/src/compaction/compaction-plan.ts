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

/** Events that a summary covers already and that are summarized again. */
export interface Overlap {
  readonly events: readonly Event[];
  /** Covered events before these, as far back as they were read. */
  readonly before: readonly Event[];
}

const NO_OVERLAP: Overlap = { events: [], before: [] };

/**
 * Plans one summary of all but the newest `retained` events, which replaces the existing summaries. Undefined if it
 * would change nothing.
 */
export function planWhole(
  events: readonly Event[],
  history: EffectiveHistory,
  retained: number,
): CompactionPlan | undefined {
  const { uncovered, summaries } = history;
  const prefix = prefixOf(events, history, Math.max(0, uncovered.length - retained));
  if (prefix.events.length === 0 && summaries.length < 2) return undefined;
  // Rewound summaries count too: a reader that starts at the last compaction still finds them.
  const starts = events.flatMap(({ actions }) => actions.compaction?.startTimestamp ?? []);
  const range = { startTimestamp: earliest(prefix.events, starts), endTimestamp: prefix.endTimestamp };
  // An event that stays but is dated inside the new range would be taken for one that the summary covers.
  const rest = uncovered.slice(prefix.events.length);
  if (rest.some((index) => isInRange(events[index] as Event, range))) return undefined;
  return { ...range, events: [...summaries.map(toSeed), ...summarizable(prefix.events)] };
}

/**
 * Plans a summary beside the existing ones, of the overlap and of all events that no summary covers. It includes each earlier summary that
 * it replaces. Undefined if no event can be summarized yet.
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
  // A reader that starts at the new summary would not see the rewind, and would use the rewound summary again.
  if (events.some((event, index) => isLeftOver(event, index, history, range))) return planWhole(events, history, 0);
  const replaced = history.summaries.filter((summary) => isWithin(summary, range) && !isWholly(overlap, summary));
  return { ...range, events: [...replaced.map(toSeed), ...summarizable([...overlap.events, ...prefix.events])] };
}

function prefixOf(
  events: readonly Event[],
  { uncovered, summaries }: EffectiveHistory,
  atMost: number,
): { readonly events: readonly Event[]; readonly endTimestamp: number } {
  const coveredUntil = summaries.reduce((latest, summary) => Math.max(latest, summary.endTimestamp), -Infinity);
  const { count, endTimestamp } = settledPrefix({ events, indexes: uncovered, atMost, coveredUntil });
  return { events: uncovered.slice(0, count).map((index) => events[index] as Event), endTimestamp };
}

function earliest(events: readonly Event[], starts: readonly number[] = []): number {
  const first = starts.reduce((least, start) => Math.min(least, start), Infinity);
  return events.reduce((least, { timestamp }) => Math.min(least, timestamp), first);
}

/** Returns true for a rewound compaction that neither a current summary nor the new range contains. */
function isLeftOver(
  { actions: { compaction } }: Event,
  index: number,
  { summaries }: EffectiveHistory,
  range: Pick<CompactionPlan, 'startTimestamp' | 'endTimestamp'>,
): boolean {
  if (!compaction || isWithin(compaction, range)) return false;
  return !summaries.some((summary) => summary.index >= index && isWithin(compaction, summary));
}

/** Returns true if every event that the summary covers is summarized again. */
function isWholly({ events, before }: Overlap, summary: PlacedCompaction): boolean {
  const isCovered = (event: Event): boolean => isInRange(event, summary);
  return events.some(isCovered) && !before.some(isCovered);
}

/**
 * Returns the events for the summarizer. Events of agents that were called as tools are left out, because the function responses hold their
 * results.
 */
function summarizable(events: readonly Event[]): Event[] {
  return events.filter(({ branch, partial }) => partial !== true && enclosureOf(branch) === '');
}

/** Converts an earlier summary to the first event for the summarizer. */
function toSeed({ startTimestamp, compactedContent }: PlacedCompaction): Event {
  return createEvent({
    author: 'model',
    timestamp: startTimestamp,
    content: { role: 'model', ...compactedContent },
  });
}
