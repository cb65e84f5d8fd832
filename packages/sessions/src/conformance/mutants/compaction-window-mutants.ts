import type { Event } from '@eventloom/core';
import type { EventWindow } from '../../session-driver.ts';
import { brokenEvents } from './broken-events.ts';
import type { Mutant } from './mutant.ts';

export const compactionWindowMutants: readonly Mutant[] = [
  brokenWindows('window.since-compaction', 'overlooks sinceCompaction', (_, window, all) =>
    select(all, { ...window, sinceCompaction: false }),
  ),
  brokenWindows('window.since-compaction', 'leaves the compaction itself out', (events) =>
    events.filter(({ actions }) => !actions.compaction),
  ),
  brokenWindows('window.since-compaction', 'gives what was at the end of the covered time too', (_, window, all) =>
    select(all, window, (timestamp, covered) => timestamp >= covered),
  ),
  brokenWindows('window.since-compaction', 'gives what comes behind the compaction', (_, { limit }, all) =>
    newest(all.slice(all.findLastIndex(isCompaction)), limit),
  ),
  brokenWindows('window.without-compaction', 'gives nothing without a compaction', (events, _, all) =>
    all.some(isCompaction) ? events : [],
  ),
  brokenWindows('window.without-compaction', 'takes 0 for the end of what nothing covers', (events, _, all) =>
    all.some(isCompaction) ? events : events.filter(({ timestamp }) => timestamp > 0),
  ),
  brokenWindows('window.several-compactions', 'takes the end of the last compaction', (_, window, all) => {
    const last = all.findLast(isCompaction)?.actions.compaction?.endTimestamp ?? -Infinity;
    return select(all, window, (timestamp) => timestamp > last);
  }),
  brokenWindows('window.several-compactions', 'gives the last compaction only', (events) => {
    const last = events.findLast(isCompaction);
    return events.filter((event) => event === last || !isCompaction(event));
  }),
  brokenWindows('window.compaction-unordered-times', 'takes times to be in order', (events, _, all) => {
    const end = Math.max(...all.map(({ actions }) => actions.compaction?.endTimestamp ?? -Infinity));
    const before = all.findLastIndex((event) => event.timestamp <= end && !isCompaction(event));
    return events.filter((event) => isCompaction(event) || all.indexOf(event) > before);
  }),
  brokenWindows('window.compaction-outside', 'looks for compactions in the rest of the window', (_, window, all) =>
    select(select(all, { ...window, sinceCompaction: false, limit: undefined }), {
      sinceCompaction: true,
      limit: window.limit,
    }),
  ),
  brokenWindows('window.every-combination', 'counts before it looks at compactions', (events, window, all) =>
    select(select(all, { ...window, sinceCompaction: false }), { sinceCompaction: true }).filter((event) =>
      events.includes(event),
    ),
  ),
  brokenWindows('window.every-combination', 'overlooks beforeSeq beside a compaction', (_, window, all) =>
    select(all, { ...window, beforeSeq: undefined }),
  ),
];

/** A mutant that spoils reads with `sinceCompaction` only. */
function brokenWindows(
  breaks: string,
  how: string,
  change: (events: Event[], window: EventWindow, all: Event[]) => Event[],
): Mutant {
  return brokenEvents(breaks, how, (events, window, all) =>
    window.sinceCompaction ? change(events, window, all) : events,
  );
}

/** Selects the events of a window as a correct service does, with another `isLater` if one is given. */
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
