import type { Event } from '../event/event.ts';
import { firstPositions } from '../event/newest-first.ts';
import type { BaseSessionService } from './session-service.ts';
import type { SessionKey } from './session.ts';

/**
 * The newest events of a session, in order: read page by page from the end, until they are enough or all there are. What a rewind
 * among them undoes is there as a whole or not at all.
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
    if (cursor === undefined) return events;
    const known = events.slice(undoneUntil(events));
    if (isEnough(known)) return known;
  }
}

/** The index of the last rewind that counts and leads to before these events: what came before it may be undone. 0 without one. */
function undoneUntil(events: readonly Event[]): number {
  const begun = firstPositions(events);
  for (let index = events.length - 1; index >= 0; index--) {
    const target = events[index]?.actions.rewindBeforeInvocationId;
    if (target === undefined) continue;
    const first = begun.get(target) ?? index;
    if (first >= index) return index;
    index = first;
  }
  return 0;
}
