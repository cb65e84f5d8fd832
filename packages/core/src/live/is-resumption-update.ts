import { isEmptyActions } from '../event/event-actions.ts';
import type { Event } from '../event/event.ts';

/** True for an event that tells of a handle of the service's and of nothing else: what to do with it is the reader's to say. */
export function isResumptionUpdate({ liveSessionResumptionUpdate, content, actions }: Event): boolean {
  return liveSessionResumptionUpdate !== undefined && content === undefined && isEmptyActions(actions);
}
