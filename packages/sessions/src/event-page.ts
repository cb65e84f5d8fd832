import { InvalidRequestError, type ListEventsRequest, type ListEventsResponse } from '@eventloom/core';
import { decodeCursor, encodeCursor } from './cursor-text.ts';
import { ALL_EVENTS } from './event-window.ts';
import { toPageSize } from './list-page.ts';
import type { EventWindow, StoredEventWindow } from './session-driver.ts';
import { notFoundError } from './errors.ts';

const DEFAULT_PAGE = 100;

/** Where a page ended. */
interface EventPlace {
  /** Sequence number of the last event that was shown. */
  readonly seq: number;
  /** The session it was shown of. */
  readonly incarnation: string;
}

/** A page of events as it was asked for. */
export interface EventPage {
  readonly order: 'asc' | 'desc';
  /** The page before; undefined for the first. */
  readonly after: EventPlace | undefined;
  readonly window: EventWindow;
}

/** Which events make the page. @throws InvalidRequestError for a limit, an order or a cursor that makes no sense */
export function toEventPage({ order = 'asc', limit = DEFAULT_PAGE, cursor }: ListEventsRequest): EventPage {
  if (order !== 'asc' && order !== 'desc') throw new InvalidRequestError('order: must be asc or desc');
  const size = toPageSize(limit);
  const after = cursor === undefined ? undefined : readPlace(cursor, order);
  if (order === 'desc') return { order, after, window: { ...ALL_EVENTS, beforeSeq: after?.seq, limit: size } };
  const afterSeq = after?.seq ?? 0;
  return { order, after, window: { ...ALL_EVENTS, afterSeq, beforeSeq: afterSeq + size + 1 } };
}

/**
 * The page, with a cursor when there is more behind it.
 * @throws SessionNotFoundError when the page before was of a session that was deleted since
 */
export function showEventPage(
  request: ListEventsRequest,
  page: EventPage,
  found: StoredEventWindow,
): ListEventsResponse {
  const { order, after, window } = page;
  const { events, incarnation, lastSeq } = found;
  if (after && after.incarnation !== incarnation) throw notFoundError(request);
  if (order === 'asc') {
    const seq = window.afterSeq + events.length;
    return seq < lastSeq ? { events, nextCursor: writePlace(order, { seq, incarnation }) } : { events };
  }
  const seq = Math.min(lastSeq + 1, window.beforeSeq ?? Infinity) - events.length;
  events.reverse();
  return seq > 1 ? { events, nextCursor: writePlace(order, { seq, incarnation }) } : { events };
}

function writePlace(order: string, { seq, incarnation }: EventPlace): string {
  return encodeCursor([order, seq, incarnation]);
}

function readPlace(cursor: string, order: string): EventPlace {
  const [direction, seq, incarnation] = decodeCursor(cursor) ?? [];
  if (direction === order && isPlace(seq) && typeof incarnation === 'string') return { seq, incarnation };
  throw new InvalidRequestError(`cursor: is not one that a page of order ${order} gave; start again without one`);
}

function isPlace(seq: unknown): seq is number {
  return Number.isSafeInteger(seq) && Number(seq) > 0;
}
