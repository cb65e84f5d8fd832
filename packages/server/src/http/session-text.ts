import {
  type BaseSessionService,
  type Event,
  type GetSessionConfig,
  serializeEvent,
  type Session,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { countOfPage, eventPages, FIRST_EVENTS } from '@eventloom/core/internal';
import type { ResponseText } from './large-responses.ts';
import { sessionPath } from './responses.ts';

/** Creates the error for a missing session; its message has the request that creates one. */
export function noSessionError(key: SessionKey, cause?: Error): SessionNotFoundError {
  const { appName, userId, sessionId } = key;
  return new SessionNotFoundError(
    `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)} does not exist; create it first with POST ${sessionPath(key)}, or session.create() of @eventloom/client`,
    { cause },
  );
}

/**
 * Reads a session as of one moment. The events of a large session are read page by page as the client reads; its state
 * is read once. The text ends with an error if the session is deleted in the meantime.
 *
 * @throws SessionNotFoundError
 */
export async function readSessionText(
  service: BaseSessionService,
  key: SessionKey,
  config: GetSessionConfig = {},
): Promise<ResponseText> {
  const { numRecentEvents = Infinity, afterTimestamp } = config;
  const most = Math.min(numRecentEvents, FIRST_EVENTS);
  const count = most && (await countOfPage(service, key, { numRecentEvents: most }, most));
  const session = await service.getSession({ ...key, config: { afterTimestamp, numRecentEvents: count } });
  if (!session) throw noSessionError(key);
  if (count === numRecentEvents || session.events.length < count || session.lastSeq === count)
    return { parts: sessionParts(session) };
  const { lastSeq, incarnation } = session;
  return { parts: sessionHead(session), rest: eventTexts(service, key, config, lastSeq, incarnation) };
}

/** Yields the JSON text of a session after its state, as of the first read, event by event. */
async function* eventTexts(
  service: BaseSessionService,
  key: SessionKey,
  { numRecentEvents = Infinity, afterTimestamp }: GetSessionConfig,
  untilSeq: number,
  incarnation: string,
): AsyncGenerator<string, void, undefined> {
  const isCounted = numRecentEvents < Infinity && afterTimestamp !== undefined;
  const afterSeq = isCounted ? 0 : Math.max(0, untilSeq - numRecentEvents);
  const events = { afterSeq, untilSeq, afterTimestamp, incarnation };
  let skipped = 0;
  if (isCounted) {
    // To find the newest events after a time, all events after that time are read.
    for await (const page of eventPages(service, key, events)) skipped += page.events.length;
    skipped = Math.max(0, skipped - numRecentEvents);
  }
  let before = '';
  for await (const page of eventPages(service, key, events)) {
    for (const event of page.events.slice(skipped)) {
      yield before + serializeEvent(event);
      before = ',';
    }
    skipped = Math.max(0, skipped - page.events.length);
  }
  yield ']}';
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
