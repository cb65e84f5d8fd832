import { weigh } from '../content/json.ts';
import { SessionNotFoundError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import { readWithoutState } from './read-newest.ts';
import type { SessionKey } from './session-key.ts';
import type { BaseSessionService, GetSessionConfig } from './session-service.ts';

/** The number of events of the first read. Most sessions have fewer. */
export const FIRST_EVENTS = 100;
const MAX_EVENTS = 1000;
/** The size of a page of events, in characters, or in bytes if the service counts them. */
const PAGE_CHARS = 1024 * 1024;

/** Consecutive events of a session. */
export interface ReadEvents {
  /** The sequence number of the first event, if the events are not selected by their time. */
  readonly seq: number;
  readonly events: readonly Event[];
}

/** The events of `eventPages`. */
interface PagedEvents {
  /** The sequence number before that of the first event. */
  readonly afterSeq: number;
  /** The sequence number of the last event. Default: the newest of the session. */
  readonly untilSeq?: number;
  /** The earliest time of an event. Default: any time. */
  readonly afterTimestamp?: number | undefined;
  /** The incarnation of the session. Default: that of the first page. */
  readonly incarnation?: string;
}

/**
 * Yields events of a session page by page. A page is read when it is requested.
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function* eventPages(
  service: BaseSessionService,
  key: SessionKey,
  { afterSeq, untilSeq = Infinity, afterTimestamp, ...begun }: PagedEvents,
): AsyncGenerator<ReadEvents, void, undefined> {
  let count = FIRST_EVENTS;
  let { incarnation } = begun;
  let lastSeq = untilSeq;
  for (let seq = afterSeq; seq < lastSeq;) {
    const most = Math.min(count, lastSeq - seq);
    count = await countOfPage(service, key, { afterSeq: seq, beforeSeq: seq + most + 1 }, most);
    const config = { afterSeq: seq, beforeSeq: seq + count + 1, afterTimestamp };
    const session = await readWithoutState(service, { ...key, config });
    if (!session || (incarnation !== undefined && session.incarnation !== incarnation)) throw goneError(key);
    incarnation = session.incarnation;
    lastSeq = Math.min(lastSeq, session.lastSeq);
    const { events } = session;
    if (events.length > 0) yield { seq: seq + 1, events };
    seq += count;
    count = Math.max(1, Math.min(MAX_EVENTS, Math.floor((count * PAGE_CHARS) / weigh(events))));
  }
}

/**
 * Returns the number of events of a window to read at once.
 * @param most the number of events in the window
 */
export async function countOfPage(
  service: BaseSessionService,
  key: SessionKey,
  config: GetSessionConfig,
  most: number,
): Promise<number> {
  return Math.max(1, Math.min(most, (await service.countWithin?.({ ...key, config }, PAGE_CHARS)) ?? most));
}

/** Creates the error for a session that was deleted during a read. */
export function goneError({ sessionId }: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`session ${JSON.stringify(sessionId)} was deleted while it was read`);
}
