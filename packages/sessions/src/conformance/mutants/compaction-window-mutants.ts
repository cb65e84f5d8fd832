import type { Event } from '@eventloom/core';
import type { EventWindow } from '../../session-driver.ts';
import { brokenEvents } from './broken-events.ts';
import type { SessionMutant } from './mutant.ts';

export const compactionWindowMutants: readonly SessionMutant[] = [
  brokenWindows('window.since-compaction', 'ignores sinceCompaction', (_, window, all) =>
    select(all, { ...window, sinceCompaction: false }),
  ),
  brokenWindows('window.since-compaction', 'leaves out the compaction itself', (events) =>
    events.filter(({ actions }) => !actions.compaction),
  ),
  brokenWindows('window.since-compaction', 'includes events at the end of the compacted range', (_, window, all) =>
    select(all, window, (timestamp, covered) => timestamp >= covered),
  ),
  brokenWindows('window.since-compaction', 'returns the events appended after the compaction', (_, { limit }, all) =>
    newest(all.slice(all.findLastIndex(isCompaction)), limit),
  ),
  brokenWindows('window.without-compaction', 'returns nothing without a compaction', (events, _, all) =>
    all.some(isCompaction) ? events : [],
  ),
  brokenWindows('window.without-compaction', 'uses 0 as the end of the range without a compaction', (events, _, all) =>
    all.some(isCompaction) ? events : events.filter(({ timestamp }) => timestamp > 0),
  ),
  brokenWindows('window.several-compactions', 'uses the end of the last compaction', (_, window, all) => {
    const last = all.findLast(isCompaction)?.actions.compaction?.endTimestamp ?? -Infinity;
    return select(all, window, (timestamp) => timestamp > last);
  }),
  brokenWindows('window.several-compactions', 'returns only the last compaction', (events) => {
    const last = events.findLast(isCompaction);
    return events.filter((event) => event === last || !isCompaction(event));
  }),
  brokenWindows('window.compaction-unordered-times', 'assumes that times are in order', (events, _, all) => {
    const end = Math.max(...all.map(({ actions }) => actions.compaction?.endTimestamp ?? -Infinity));
    const before = all.findLastIndex((event) => event.timestamp <= end && !isCompaction(event));
    return events.filter((event) => isCompaction(event) || all.indexOf(event) > before);
  }),
  brokenWindows('window.compaction-outside', 'searches compactions only inside the window', (_, window, all) =>
    select(select(all, { ...window, sinceCompaction: false, limit: undefined }), {
      sinceCompaction: true,
      limit: window.limit,
    }),
  ),
  brokenWindows('window.every-combination', 'applies numRecentEvents before sinceCompaction', (events, window, all) =>
    select(select(all, { ...window, sinceCompaction: false }), { sinceCompaction: true }).filter((event) =>
      events.includes(event),
    ),
  ),
  brokenWindows('window.every-combination', 'ignores beforeSeq with sinceCompaction', (_, window, all) =>
    select(all, { ...window, beforeSeq: undefined }),
  ),
];

/** Creates a mutant whose reads with `sinceCompaction` are wrong. */
function brokenWindows(
  breaks: string,
  how: string,
  change: (events: Event[], window: EventWindow, all: Event[]) => Event[],
): SessionMutant {
  return brokenEvents(breaks, how, (events, window, all) =>
    window.sinceCompaction ? change(events, window, all) : events,
  );
}

/** Selects the events of a window; correct unless `isLater` replaces the comparison. */
function select(
  all: readonly Event[],
  { afterSeq = 0, beforeSeq = Infinity, afterTimestamp = -Infinity, sinceCompaction, limit }: Partial<EventWindow>,
  isLater = (timestamp: number, covered: number): boolean => timestamp > covered,
): Event[] {
  const ends = all.flatMap(({ actions }) => actions.compaction?.endTimestamp ?? []);
  const covered = sinceCompaction ? Math.max(-Infinity, ...ends) : -Infinity;
  const found = all.filter(
    (event, index) =>
      index >= afterSeq &&
      index + 1 < beforeSeq &&
      event.timestamp >= afterTimestamp &&
      (!sinceCompaction || isCompaction(event) || isLater(event.timestamp, covered)),
  );
  return newest(found, limit);
}

function newest(events: Event[], limit = Infinity): Event[] {
  return events.slice(Math.max(0, events.length - limit));
}

function isCompaction({ actions }: Event): boolean {
  return actions.compaction !== undefined;
}
