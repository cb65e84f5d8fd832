import type { Event } from '../event/event.ts';
import { firstIndexes } from '../event/newest-first.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { BaseSessionService, GetSessionRequest } from './session-service.ts';
import type { Session } from './session.ts';
import type { SessionKey } from './session-key.ts';

/**
 * Reads the newest events of a session, page by page from its end, until `isEnough` returns true or all events are read.
 * Returns them in append order. Contains either all or none of the events that a rewind undoes.
 *
 * `isEnough` is called each time when the number of events has doubled, so that all calls together cost time linear in that number.
 * @throws SessionNotFoundError
 */
export async function readNewest(
  service: Pick<BaseSessionService, 'listEvents'>,
  key: SessionKey,
  isEnough: (events: readonly Event[]) => boolean,
): Promise<Event[]> {
  const newestFirst: Event[] = [];
  let cursor: string | undefined;
  let checkAt = 1;
  for (let limit = 32; ; limit = Math.min(1000, limit * 2)) {
    const page = await service.listEvents({ ...key, order: 'desc', limit, cursor });
    for (const event of page.events) newestFirst.push(event);
    cursor = page.nextCursor;
    if (cursor === undefined) return newestFirst.reverse();
    if (newestFirst.length < checkAt) continue;
    checkAt = newestFirst.length * 2;
    const events = newestFirst.toReversed();
    const known = events.slice(undoneUntil(events));
    if (isEnough(known)) return known;
  }
}

/**
 * Returns the index of the last effective rewind whose target is before these events, because events before it may be
 * undone. 0 if there is none.
 */
function undoneUntil(events: readonly Event[]): number {
  const begun = firstIndexes(events);
  for (let index = events.length - 1; index >= 0; index--) {
    const target = events[index]?.actions.rewindBeforeInvocationId;
    if (target === undefined) continue;
    const first = begun.get(target) ?? index;
    if (first >= index) return index;
    index = first;
  }
  return 0;
}

/** Reads the events of a session, without the state if the service can omit it. Undefined if the session does not exist. */
export function readWithoutState(
  service: Pick<BaseSessionService, 'getSession' | 'getWithoutState'>,
  request: GetSessionRequest,
): MaybePromise<Session | undefined> {
  return service.getWithoutState?.(request) ?? service.getSession(request);
}

/**
 * Reads a session without its events, and without its state if the service can omit it: its incarnation, and the number
 * of its newest event. Undefined if the session does not exist.
 */
export function readWithoutEvents(
  service: Pick<BaseSessionService, 'getSession' | 'getWithoutState'>,
  key: SessionKey,
): MaybePromise<Session | undefined> {
  return readWithoutState(service, { ...key, config: { numRecentEvents: 0 } });
}
