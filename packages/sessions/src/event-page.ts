import {
  type Event,
  InvalidRequestError,
  type ListEventsRequest,
  type ListEventsResponse,
  type SessionKey,
} from '@eventloom/core';
import type { EventWindow, StoredEventWindow } from './session-driver.ts';
import { ALL_EVENTS } from './event-window.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1000;

/** A page of events as it was asked for. */
export interface EventPage {
  readonly order: 'asc' | 'desc';
  readonly size: number;
  readonly window: EventWindow;
}

/** Which events make the page. @throws InvalidRequestError for a limit, an order or a cursor that makes no sense */
export function toEventPage({
  order = 'asc',
  limit = DEFAULT_PAGE,
  cursor,
}: ListEventsRequest & SessionKey): EventPage {
  if (order !== 'asc' && order !== 'desc') throw new InvalidRequestError('order: must be asc or desc');
  if (!Number.isInteger(limit) || limit < 1) throw new InvalidRequestError('limit: must be a positive integer');
  const size = Math.min(limit, MAX_PAGE);
  const seq = cursor === undefined ? undefined : readPlace(cursor, order);
  if (order === 'desc') return { order, size, window: { ...ALL_EVENTS, beforeSeq: seq, limit: size } };
  const afterSeq = seq ?? 0;
  return { order, size, window: { ...ALL_EVENTS, afterSeq, beforeSeq: afterSeq + size + 1 } };
}

/** The page, with a cursor when there is more behind it. */
export function showEventPage(
  { order, window }: EventPage,
  { events, lastSeq }: StoredEventWindow,
): ListEventsResponse {
  if (order === 'asc') {
    const seq = window.afterSeq + events.length;
    return seq < lastSeq ? { events, nextCursor: `asc.${seq}` } : { events };
  }
  const newest = Math.min(lastSeq, (window.beforeSeq ?? Infinity) - 1);
  const oldest = newest - events.length + 1;
  const reversed: Event[] = events.reverse();
  return oldest > 1 ? { events: reversed, nextCursor: `desc.${oldest}` } : { events: reversed };
}

/** The number in a cursor: of the last event shown. */
function readPlace(cursor: string, order: string): number {
  const [, direction, digits] = /^(asc|desc)\.([1-9]\d{0,14})$/.exec(cursor) ?? [];
  if (direction === order) return Number(digits);
  throw new InvalidRequestError(`cursor: is not one that a page of order ${order} gave; start again without one`);
}
