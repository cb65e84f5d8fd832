import { createEvent, type EventParams } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import type { EventCompaction } from '../event/event-actions.ts';

/** The event of a summary, for a summarizer to return: the runner fills in the range and all else that is missing. */
export function createCompactionEvent(
  compactedContent: EventCompaction['compactedContent'],
  params: Omit<EventParams, 'content' | 'actions'> = {},
): Event {
  const compaction = { startTimestamp: 0, endTimestamp: 0, compactedContent };
  return createEvent({ author: 'user', ...params, actions: { compaction } });
}
