import {
  decodeBase64,
  InvalidRequestError,
  type ListEventsRequest,
  type ListEventsResponse,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
} from '@eventloom/core';
import { checkName, describeKind, encodeUrlBase64 } from '@eventloom/core/internal';
import { notFoundError } from './errors.ts';
import { ALL_EVENTS, toSession } from './session-view.ts';
import type {
  EventWindow,
  OpenRunPosition,
  SessionDriver,
  SessionPosition,
  StoredEventWindow,
} from './session-driver.ts';

const DEFAULT_PAGE = 100;

/** The position after a page of events. */
interface ListedPlace {
  /** Sequence number of the last event of the page. */
  readonly seq: number;
  /** The incarnation of its session. */
  readonly incarnation: string;
}

/** A requested page of events. */
interface EventPage {
  readonly order: 'asc' | 'desc';
  /** The position after the previous page; undefined for the first page. */
  readonly after: ListedPlace | undefined;
  readonly window: EventWindow;
}

/**
 * Converts a request to a page of events.
 *
 * @throws InvalidRequestError for an invalid limit, order or cursor
 */
export function toEventPage({ order = 'asc', limit = DEFAULT_PAGE, cursor }: ListEventsRequest): EventPage {
  if (order !== 'asc' && order !== 'desc')
    throw new InvalidRequestError(`order: expected asc or desc, got ${JSON.stringify(order)}`);
  const size = toPageSize(limit);
  const after = cursor === undefined ? undefined : readPlace(cursor, order);
  if (order === 'desc') return { order, after, window: { ...ALL_EVENTS, beforeSeq: after?.seq, limit: size } };
  const afterSeq = after?.seq ?? 0;
  return { order, after, window: { ...ALL_EVENTS, afterSeq, beforeSeq: afterSeq + size + 1 } };
}

/**
 * Returns the page, with a cursor if more events follow.
 * @throws SessionNotFoundError if the session of the previous page was deleted
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

function writePlace(order: string, { seq, incarnation }: ListedPlace): string {
  return encodeCursor([order, seq, incarnation]);
}

function readPlace(cursor: string, order: string): ListedPlace {
  const [direction, seq, incarnation] = decodeCursor(cursor) ?? [];
  if (direction === order && isPlace(seq) && typeof incarnation === 'string') return { seq, incarnation };
  throw new InvalidRequestError(
    `cursor: was not returned by a listing with order ${order}; start again without a cursor`,
  );
}

function isPlace(seq: unknown): seq is number {
  return Number.isSafeInteger(seq) && Number(seq) > 0;
}

/** Implements `BaseSessionService.listSessions`. */
export async function listSessions(driver: SessionDriver, request: ListSessionsRequest): Promise<ListSessionsResponse> {
  const { appName, userId, limit, cursor } = request;
  checkName('appName', appName);
  if (userId !== undefined) checkName('userId', userId);
  const size = toPageSize(limit);
  const after = cursor === undefined ? undefined : readSessionPosition(cursor);
  const found = await driver.listSessions({ appName, userId, limit: size + 1, after });
  const page = found.slice(0, size);
  const sessions = page.map(toSession);
  const last = page.at(-1);
  return last && (found.length > size || last.isCut)
    ? { sessions, nextCursor: writeSessionPosition(last) }
    : { sessions };
}

function writeSessionPosition({ updatedAtMs, sessionId, userId }: SessionPosition): string {
  return encodeCursor([updatedAtMs, sessionId, userId]);
}

function readSessionPosition(cursor: string): SessionPosition {
  const [updatedAtMs, sessionId, userId, more] = decodeCursor(cursor) ?? [];
  const isWhole = typeof sessionId === 'string' && typeof userId === 'string' && more === undefined;
  if (isWhole && typeof updatedAtMs === 'number') return { updatedAtMs, sessionId, userId };
  throw badCursorError();
}

/** Implements `BaseSessionService.listOpenRuns`. */
export async function listOpenRuns(driver: SessionDriver, request: ListOpenRunsRequest): Promise<ListOpenRunsResponse> {
  const { appName, limit, cursor } = request;
  checkName('appName', appName);
  const size = toPageSize(limit);
  const after = cursor === undefined ? undefined : readOpenRunPosition(cursor);
  const found = await driver.listOpenRuns({ appName, limit: size + 1, after });
  const runs = found.slice(0, size);
  const last = runs.at(-1);
  return found.length > size && last ? { runs, nextCursor: encodeCursor([last.userId, last.sessionId]) } : { runs };
}

function readOpenRunPosition(cursor: string): OpenRunPosition {
  const [userId, sessionId, more] = decodeCursor(cursor) ?? [];
  if (typeof userId === 'string' && typeof sessionId === 'string' && more === undefined) return { userId, sessionId };
  throw badCursorError();
}

const MAX_PAGE = 1000;

/** Returns the size of a page of a listing. @throws InvalidRequestError for a limit that is not a positive integer */
export function toPageSize(limit: number = MAX_PAGE): number {
  if (!Number.isInteger(limit) || limit < 1)
    throw new InvalidRequestError(`limit: expected a positive integer, got ${describeKind(limit)}; write limit: 100`);
  return Math.min(limit, MAX_PAGE);
}

/** Creates the error for a cursor that no listing returned. */
function badCursorError(): InvalidRequestError {
  return new InvalidRequestError('cursor: was not returned by this listing; start again without a cursor');
}

/** Encodes a list of JSON values as opaque text that is safe in a URL. */
function encodeCursor(values: readonly unknown[]): string {
  return encodeUrlBase64(new TextEncoder().encode(JSON.stringify(values)));
}

/** Decodes a text of `encodeCursor`; undefined for any other text. */
function decodeCursor(cursor: string): readonly unknown[] | undefined {
  try {
    const values: unknown = JSON.parse(new TextDecoder().decode(decodeBase64(cursor)));
    return Array.isArray(values) && encodeCursor(values) === cursor ? values : undefined;
  } catch {
    return undefined;
  }
}
