import { type GetSessionConfig, serializeEvent, type Session, SessionNotFoundError } from '@eventloom/core';
import { jsonTextResponse } from './json-response.ts';
import { sessionHead, sessionText } from './session-text.ts';

/** So many events are read at first, and of most sessions that is all. */
const FIRST_EVENTS = 100;
const MAX_EVENTS = 1000;
/** About how many characters a page of events should have. */
const PAGE_CHARS = 1024 * 1024;

/** Reads a session. @throws SessionNotFoundError */
type ReadSession = (config: GetSessionConfig) => Promise<Session>;

/**
 * An answer with a session as of one moment. A long one is streamed a page of events after the other, so that not all of it is in
 * memory; one that is deleted meanwhile breaks the stream off.
 * @throws SessionNotFoundError
 */
export async function sessionResponse(read: ReadSession, config: GetSessionConfig = {}): Promise<Response> {
  const { numRecentEvents = Infinity, afterTimestamp } = config;
  // Where the newest of those at a time begin is not known without reading them.
  const isWhole = numRecentEvents <= FIRST_EVENTS || (numRecentEvents < Infinity && afterTimestamp !== undefined);
  const session = await read(isWhole ? config : { afterTimestamp, numRecentEvents: FIRST_EVENTS });
  if (isWhole || session.events.length < FIRST_EVENTS || session.lastSeq === FIRST_EVENTS) {
    return jsonTextResponse(sessionText(session));
  }
  const afterSeq = Math.max(0, session.lastSeq - numRecentEvents);
  const parts = sessionParts(read, session, afterTimestamp, afterSeq);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      cancel: () => void parts.return(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

/** The text of a session whose newest events were read, from behind a sequence number. */
async function* sessionParts(
  read: ReadSession,
  session: Session,
  afterTimestamp: number | undefined,
  firstSeq: number,
): AsyncGenerator<string, void, undefined> {
  const { lastSeq, incarnation, events: newest } = session;
  let text = sessionHead(session);
  let count = FIRST_EVENTS;
  for (let afterSeq = firstSeq; afterSeq < lastSeq;) {
    const beforeSeq = afterSeq + count + 1;
    const page = await read({ afterTimestamp, afterSeq, beforeSeq });
    if (page.incarnation !== incarnation) throw new SessionNotFoundError('the session was deleted while it was read');
    const end = page.events.findIndex(({ id }) => id === newest[0]?.id);
    const before = text.length;
    for (const event of end < 0 ? page.events : page.events.slice(0, end)) text += `${serializeEvent(event)},`;
    if (end >= 0) break;
    afterSeq += count;
    count = Math.max(1, Math.min(MAX_EVENTS, Math.floor((count * PAGE_CHARS) / (text.length - before + 1))));
    yield text;
    text = '';
  }
  yield `${text}${newest.map((event) => serializeEvent(event)).join(',')}]}`;
}
