import type { Event } from '@eventloom/core';
import type { EventWindow } from './session-driver.ts';

/** Selects the events of a window from all events of a session, in append order. Reads each event once. */
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
