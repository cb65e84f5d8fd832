import {
  type Event,
  type GetSessionConfig,
  serializeEvent,
  type Session,
  SessionNotFoundError,
  type BaseSessionService,
  type GetSessionRequest,
  type MaybePromise,
} from '@eventloom/core';
import { weigh } from '@eventloom/core/internal';
import type { AnswerText } from './large-answers.ts';

/** The number of events of the first read. Most sessions have fewer. */
const FIRST_EVENTS = 100;
const MAX_EVENTS = 1000;
/** The size of a page of events, in characters, or in bytes if the service counts them. */
const PAGE_CHARS = 1024 * 1024;

/** Parameters of `readSessionText`: the session to read. */
export interface SessionSource {
  /** @throws SessionNotFoundError */
  read(config: GetSessionConfig): Promise<Session>;
  /** Reads the session like `read`, but may leave out the state. */
  readEvents(config: GetSessionConfig): Promise<Session>;
  /** See `BaseSessionService.countWithin`. */
  countWithin?(config: GetSessionConfig, maxBytes: number): MaybePromise<number | undefined>;
}

/**
 * Reads a session as of one moment. The events of a large session are read page by page as the client reads; its state is read once. The text
 * ends with an error if the session is deleted in the meantime.
 *
 * @throws SessionNotFoundError
 */
export async function readSessionText(source: SessionSource, config: GetSessionConfig = {}): Promise<AnswerText> {
  const { numRecentEvents = Infinity, afterTimestamp } = config;
  const count = await countOfPage(source, { numRecentEvents: Math.min(numRecentEvents, FIRST_EVENTS) });
  const session = await source.read({ afterTimestamp, numRecentEvents: count });
  if (count === numRecentEvents || session.events.length < count || session.lastSeq === count)
    return { parts: sessionParts(session) };
  const { lastSeq, incarnation } = session;
  return { parts: sessionHead(session), rest: eventTexts(source, { lastSeq, incarnation }, config) };
}

/** The session as of the first read. */
type Begun = Pick<Session, 'lastSeq' | 'incarnation'>;

/** Yields the JSON text of a session after its state, event by event. */
async function* eventTexts(
  source: SessionSource,
  begun: Begun,
  { numRecentEvents = Infinity, afterTimestamp }: GetSessionConfig,
): AsyncGenerator<string, void, undefined> {
  let skipped = 0;
  let firstSeq = Math.max(0, begun.lastSeq - numRecentEvents);
  if (numRecentEvents < Infinity && afterTimestamp !== undefined) {
    // To find the newest events after a time, all events after that time are read.
    firstSeq = 0;
    for await (const page of pagesOf(source, begun, firstSeq, afterTimestamp)) skipped += page.length;
    skipped = Math.max(0, skipped - numRecentEvents);
  }
  let before = '';
  for await (const page of pagesOf(source, begun, firstSeq, afterTimestamp)) {
    for (const event of page.slice(skipped)) {
      yield before + serializeEvent(event);
      before = ',';
    }
    skipped = Math.max(0, skipped - page.length);
  }
  yield ']}';
}

/** Yields the events after a sequence number, up to the last one at the first read. */
async function* pagesOf(
  source: SessionSource,
  { lastSeq, incarnation }: Begun,
  firstSeq: number,
  afterTimestamp: number | undefined,
): AsyncGenerator<readonly Event[], void, undefined> {
  let count = FIRST_EVENTS;
  for (let afterSeq = firstSeq; afterSeq < lastSeq;) {
    count = await countOfPage(source, { afterSeq, beforeSeq: Math.min(afterSeq + count, lastSeq) + 1 });
    const page = await source.readEvents({ afterTimestamp, afterSeq, beforeSeq: afterSeq + count + 1 });
    if (page.incarnation !== incarnation) throw new SessionNotFoundError('the session was deleted while it was read');
    afterSeq += count;
    count = Math.max(1, Math.min(MAX_EVENTS, Math.floor((count * PAGE_CHARS) / weigh(page.events))));
    yield page.events;
  }
}

/** Returns the number of events of a window to read at once. */
async function countOfPage(source: SessionSource, window: GetSessionConfig): Promise<number> {
  const { numRecentEvents, afterSeq = 0, beforeSeq = 0 } = window;
  const most = numRecentEvents ?? beforeSeq - afterSeq - 1;
  return Math.min(most, (await source.countWithin?.(window, PAGE_CHARS)) ?? most);
}

/**
 * Yields the JSON text of a session, `{id, appName, userId, state, lastUpdateTime, events}`, part by part: one value of
 * its state or one event at a time.
 */
export function* sessionParts(session: Session): Generator<string, void, undefined> {
  yield* sessionHead(session);
  yield* eventParts(session.events);
  yield ']}';
}

/** Yields the JSON text of several events. */
export function* eventListParts(events: readonly Event[]): Generator<string, void, undefined> {
  yield '[';
  yield* eventParts(events);
  yield ']';
}

function* eventParts(events: readonly Event[]): Generator<string, void, undefined> {
  let before = '';
  for (const event of events) {
    yield before + serializeEvent(event);
    before = ',';
  }
}

/** Yields the JSON text of a session up to its events. */
function* sessionHead({ id, appName, userId, state, lastUpdateTime }: Session): Generator<string, void, undefined> {
  yield `${JSON.stringify({ id, appName, userId }).slice(0, -1)},"state":{`;
  let before = '';
  for (const [key, value] of Object.entries(state)) {
    yield `${before}${JSON.stringify(key)}:${JSON.stringify(value)}`;
    before = ',';
  }
  yield `},"lastUpdateTime":${lastUpdateTime},"events":[`;
}

/** Yields the JSON text of several sessions. */
export function* sessionListParts(sessions: readonly Session[]): Generator<string, void, undefined> {
  let before = '[';
  for (const session of sessions) {
    yield before;
    yield* sessionParts(session);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** Reads the events of a session, without the state if the service can omit it. Undefined if the session does not exist. */
export function readWithoutState(
  service: BaseSessionService,
  request: GetSessionRequest,
): MaybePromise<Session | undefined> {
  return service.getWithoutState?.(request) ?? service.getSession(request);
}
