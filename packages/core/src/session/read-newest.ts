import type { Event } from '../event/event.ts';
import type { BaseSessionService } from './session-service.ts';
import type { SessionKey } from './session.ts';

/**
 * The newest events of a session, in order: read page by page from the end, until they are enough or all there are. Rewinds among
 * them have what they undo with them.
 * @throws SessionNotFoundError
 */
export async function readNewest(
  service: Pick<BaseSessionService, 'listEvents'>,
  key: SessionKey,
  isEnough: (events: readonly Event[]) => boolean,
): Promise<Event[]> {
  let events: Event[] = [];
  let cursor: string | undefined;
  for (let limit = 32; ; limit = Math.min(1000, limit * 2)) {
    const page = await service.listEvents({ ...key, order: 'desc', limit, cursor });
    events = [...page.events.reverse(), ...events];
    cursor = page.nextCursor;
    if (cursor === undefined || (isSelfContained(events) && isEnough(events))) return events;
  }
}

function isSelfContained(events: readonly Event[]): boolean {
  const begun = new Set<string>();
  for (const { invocationId, actions } of events) {
    const target = actions.rewindBeforeInvocationId;
    if (target !== undefined && !begun.has(target)) return false;
    begun.add(invocationId);
  }
  return true;
}
