import { type GetSessionConfig, serializeEvent, type Session, SessionNotFoundError } from '@eventloom/core';
import { partsResponse, streamedResponse } from './parts-response.ts';
import { sessionHead, sessionParts } from './session-text.ts';

/** So many events are read at first, and of most sessions that is all. */
const FIRST_EVENTS = 100;
const MAX_EVENTS = 1000;
/** About how many characters, or bytes where the service counts, a page of events should have. */
const PAGE_CHARS = 1024 * 1024;

/** A session to read. */
export interface SessionSource {
  /** @throws SessionNotFoundError */
  read(config: GetSessionConfig): Promise<Session>;
  /** As `read`, and may leave the state out. */
  readEvents(config: GetSessionConfig): Promise<Session>;
  /** As of a session service; undefined where it does not say. */
  countWithin?(config: GetSessionConfig, maxBytes: number): Promise<number> | undefined;
}

/**
 * An answer with a session as of one moment. A long or a large one is streamed, a value of its state and a page of its events after the
 * other, so that not all of it is in memory as text; its state is read once. One that is deleted meanwhile breaks the stream off.
 * @throws SessionNotFoundError
 */
export async function sessionResponse(source: SessionSource, config: GetSessionConfig = {}): Promise<Response> {
  const { numRecentEvents = Infinity, afterTimestamp } = config;
  const count = await fitting(source, { numRecentEvents: Math.min(numRecentEvents, FIRST_EVENTS) });
  const session = await source.read({ afterTimestamp, numRecentEvents: count });
  if (count === numRecentEvents || session.events.length < count || session.lastSeq === count) {
    return partsResponse(sessionParts(session));
  }
  return streamedResponse(pagedParts(source, session, config));
}

/** What a session was when it was begun to read. */
type Begun = Pick<Session, 'lastSeq' | 'incarnation'>;

/** The text of a session, its events page by page. */
async function* pagedParts(
  source: SessionSource,
  session: Session,
  { numRecentEvents = Infinity, afterTimestamp }: GetSessionConfig,
): AsyncGenerator<string, void, undefined> {
  yield* sessionHead(session);
  const begun: Begun = { lastSeq: session.lastSeq, incarnation: session.incarnation };
  let skipped = 0;
  let firstSeq = Math.max(0, begun.lastSeq - numRecentEvents);
  if (numRecentEvents < Infinity && afterTimestamp !== undefined) {
    // Where the newest of those at a time begin is not known without reading them.
    firstSeq = 0;
    for await (const page of pagesOf(source, begun, firstSeq, afterTimestamp)) skipped += page.length;
    skipped = Math.max(0, skipped - numRecentEvents);
  }
  let before = '';
  for await (const page of pagesOf(source, begun, firstSeq, afterTimestamp)) {
    const shown = page.slice(skipped);
    skipped -= page.length - shown.length;
    if (shown.length === 0) continue;
    yield before + shown.join(',');
    before = ',';
  }
  yield ']}';
}

/** The events behind a sequence number that a session had when it was begun, as JSON. */
async function* pagesOf(
  source: SessionSource,
  { lastSeq, incarnation }: Begun,
  firstSeq: number,
  afterTimestamp: number | undefined,
): AsyncGenerator<string[], void, undefined> {
  let count = FIRST_EVENTS;
  for (let afterSeq = firstSeq; afterSeq < lastSeq;) {
    count = await fitting(source, { afterSeq, beforeSeq: Math.min(afterSeq + count, lastSeq) + 1 });
    const page = await source.readEvents({ afterTimestamp, afterSeq, beforeSeq: afterSeq + count + 1 });
    if (page.incarnation !== incarnation) throw new SessionNotFoundError('the session was deleted while it was read');
    const texts = page.events.map((event) => serializeEvent(event));
    afterSeq += count;
    const chars = texts.reduce((sum, { length }) => sum + length, 1);
    count = Math.max(1, Math.min(MAX_EVENTS, Math.floor((count * PAGE_CHARS) / chars)));
    yield texts;
  }
}

/** How many events of a window are read at once. */
async function fitting(source: SessionSource, window: GetSessionConfig): Promise<number> {
  const { numRecentEvents, afterSeq = 0, beforeSeq = 0 } = window;
  const most = numRecentEvents ?? beforeSeq - afterSeq - 1;
  return Math.min(most, (await source.countWithin?.(window, PAGE_CHARS)) ?? most);
}
