import type { Event } from '@eventloom/core';
import type { EventWindow } from './session-driver.ts';

/** The window of a whole session's events, given in append order, by looking at each of them. */
export function selectEvents(events: readonly Event[], window: EventWindow): Event[] {
  const { afterSeq, beforeSeq = Infinity, afterTimestamp = -Infinity, limit = Infinity } = window;
  let covered = -Infinity;
  if (window.sinceCompaction) {
    for (const { actions } of events) covered = Math.max(covered, actions.compaction?.endTimestamp ?? -Infinity);
  }
  const found = events
    .slice(afterSeq, Math.max(0, beforeSeq - 1))
    .filter(
      ({ timestamp, actions }) => timestamp >= afterTimestamp && (timestamp > covered || Boolean(actions.compaction)),
    );
  return found.slice(Math.max(0, found.length - limit));
}
