import type { Event, HistoryPointer } from '@eventloom/core';

/** What an event that stands at this place says of where to read on; undefined when it says nothing that can be. */
export function pointerAt(seq: number, { actions }: Event): HistoryPointer | undefined {
  const pointer = actions.history;
  if (pointer?.seq !== seq) return undefined;
  const { rewoundFrom = 1, keptFrom = 1, summariesFrom = 1 } = pointer;
  const isBefore = [rewoundFrom, keptFrom, summariesFrom].every((at) => Number.isInteger(at) && at >= 1 && at <= seq);
  return isBefore ? pointer : undefined;
}
