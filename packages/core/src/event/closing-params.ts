import type { Platform } from '../platform/platform.ts';
import type { EventParams } from './create-event.ts';
import { afterCovered } from './event-actions.ts';
import type { Event } from './event.ts';

/**
 * Returns the parameters of an event that closes a run from outside: those that every event of the run has.
 *
 * @param first the first event of the run
 * @param coveredUntil the time up to which compactions cover the session, in seconds
 */
export function closingParams(
  { invocationId, requestId, customMetadata }: Event,
  author: string,
  platform: Platform,
  coveredUntil: number,
): EventParams {
  return {
    id: platform.newEventId(),
    invocationId,
    executionId: invocationId,
    author,
    timestamp: afterCovered(platform.now() / 1000, coveredUntil),
    ...(requestId === undefined ? {} : { requestId }),
    ...(customMetadata === undefined ? {} : { customMetadata }),
  };
}
