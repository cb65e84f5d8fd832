import type { Event, EventCompaction } from '@eventloom/core';
import type { ReadSession } from './history-reader.ts';

/**
 * What counts of the events before those that are known, by its time, where a compaction follows them that stands for all up to its
 * end. Undefined when more may count: an earlier summary that is not within it, or what a rewind left that undid more than it covers.
 * @param known the events before the compaction that are read already @param first the sequence number of the first of them
 */
export async function readUncovered(
  read: ReadSession,
  { startTimestamp, endTimestamp }: EventCompaction,
  known: readonly Event[],
  first: number,
): Promise<readonly Event[] | undefined> {
  const isWithin = ({ actions: { compaction } }: Event): boolean =>
    !compaction || (compaction.startTimestamp >= startTimestamp && compaction.endTimestamp <= endTimestamp);
  if (!known.every(isWithin)) return undefined;
  const earlier = await read({ sinceCompaction: true, beforeSeq: first });
  if (!earlier.events.every(isWithin)) return undefined;
  // Not the window just read: it leaves out what a compaction covers that was rewound.
  const { events } = await read({ afterTimestamp: endTimestamp, beforeSeq: first });
  const all = [...events, ...known];
  const lastRewind = all.findLastIndex(({ actions }) => actions.rewindBeforeInvocationId !== undefined);
  return all.slice(0, Math.max(0, lastRewind)).every(({ timestamp }) => timestamp <= endTimestamp) ? events : undefined;
}
