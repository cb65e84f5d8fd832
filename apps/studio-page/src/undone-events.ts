import type { Event } from '@eventloom/core';

/** Returns the indexes of the events that a rewind undid. */
export function undoneEvents(events: readonly Event[]): ReadonlySet<number> {
  const undone = new Set<number>();
  for (const [end, { actions }] of events.entries()) {
    const first = actions.rewindBeforeInvocationId;
    if (first === undefined) continue;
    const start = events.findIndex(({ invocationId }) => invocationId === first);
    for (let index = start; index >= 0 && index < end; index++) undone.add(index);
  }
  return undone;
}
