import {
  type BaseSessionService,
  type Event,
  EventTag,
  hasTag,
  ObjectType,
  type Platform,
  type RunOutcome,
  type RunRecord,
  serializeEvent,
  type Session,
  type SessionKey,
} from '@eventloom/core';
import {
  eventPages,
  FIRST_EVENTS,
  goneError,
  isBookkeeping,
  isCancelledRequest,
  isYielded,
  outcomeOfEvent,
  type ReadEvents,
  readStreamed,
  readWithoutEvents,
  readWithoutState,
} from '@eventloom/core/internal';
import { chunkPosition, eventPosition, MESSAGE_POSITION, offsetOf, type RunLog } from './run-log.ts';
import type { RunFrame } from './run-relay.ts';

/**
 * Number of events that are read first at the end of a run. They include the last event that readers get, unless agents
 * as tools stored several events after it.
 */
const LAST_EVENTS = 5;
const MAX_ERROR_CHARS = 10_000;

/**
 * Finds the record of a run for its readers, by the run's invocation id or a request id. A run that has ended stays ended until an event
 * continues it: a later attempt at it may be refused, which stores nothing.
 *
 * A request of which no event is stored belongs to the attempt that is open: its record has both `open` and `end`. Without an open
 * attempt, its process was killed, and it is not found.
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function findReadRun(
  service: BaseSessionService,
  key: SessionKey,
  id: string,
): Promise<RunRecord | undefined> {
  const stored = await service.findRun({ ...key, id });
  if (!stored?.end) return stored;
  const { open, end, ...run } = stored;
  const { invocationId, firstSeq } = run;
  const hasEvent = async (afterSeq: number, is: (event: Event) => boolean): Promise<boolean> => {
    for await (const { events } of eventPages(service, key, { afterSeq })) if (events.some(is)) return true;
    return false;
  };
  if (id !== invocationId && !(await hasEvent(firstSeq - 1, ({ requestId }) => requestId === id)))
    return open && stored;
  if (!open) return stored;
  const isContinued = await hasEvent(end.lastSeq, (event) => event.invocationId === invocationId);
  return { ...run, ...(isContinued ? { open } : { end }) };
}

/** True for an open run, and for a request that continues one, whose message is not stored: it is recorded before. */
export function isNotBegun({ end, firstSeq }: RunRecord, { lastSeq }: Pick<Session, 'lastSeq'>): boolean {
  return end !== undefined || lastSeq < firstSeq;
}

/**
 * Reads whether the message of an open run is not stored: see `isNotBegun`.
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function readNotBegun(service: BaseSessionService, key: SessionKey, run: RunRecord): Promise<boolean> {
  const session = await readWithoutEvents(service, key);
  if (!session) throw goneError(key);
  return isNotBegun(run, session);
}

/**
 * Finds the message of a request in its session.
 * @param id the request id; for a request without one, the invocation id of the run that it began
 * @returns the id of the run that has the message; undefined if the message is not stored
 */
export async function findMessage(
  service: BaseSessionService,
  key: SessionKey,
  id: string,
): Promise<string | undefined> {
  const record = await service.findRun({ ...key, id });
  if (!record) return undefined;
  const { invocationId, firstSeq } = record;
  for await (const { events } of eventPages(service, key, { afterSeq: firstSeq - 1 }))
    for (const event of events)
      if (event.author === 'user' && (event.requestId ?? event.invocationId) === id) return invocationId;
  return undefined;
}

/**
 * The first and the last wait for the end of a run that another process took, in milliseconds. Each wait is twice as long as the previous
 * one.
 */
const FIRST_WAIT_MS = 25;
const LAST_WAIT_MS = 400;

/**
 * Finds a run that another process took. Waits for its end, which a process that takes the session to close the run
 * stores a moment later.
 */
export async function findTakenRun(
  service: BaseSessionService,
  platform: Pick<Platform, 'schedule'>,
  key: SessionKey,
  id: string,
): Promise<RunRecord | undefined> {
  let stored = await service.findRun({ ...key, id });
  for (let waitMs = FIRST_WAIT_MS; stored?.open && waitMs <= LAST_WAIT_MS; waitMs *= 2) {
    await new Promise<void>((resolve) => void platform.schedule(waitMs, resolve));
    stored = await service.findRun({ ...key, id });
  }
  return stored;
}

/** The end of the frames of a run that has ended. */
interface EndOfFrames {
  /** The outcome of the run. */
  readonly outcome: RunOutcome;
  /** The position of the last stored event that a reader gets; 0 for none. */
  readonly eventPosition: number;
  /** The last frame of a run that did not complete: `{error, code}`, as in its log. */
  readonly frame?: RunFrame;
}

/** Finds the end of the frames of a run: at the number in its record, or at its last event if the record has no number. */
export async function readEnd(service: BaseSessionService, key: SessionKey, run: RunRecord): Promise<EndOfFrames> {
  const { invocationId, firstSeq, end } = run;
  let untilSeq = end?.lastSeq ?? Infinity;
  let userOffset = 0;
  // The frame of a failure is the last one.
  const withUser = (found: EndOfFrames): EndOfFrames =>
    found.frame ? found : { ...found, eventPosition: Math.max(found.eventPosition, eventPosition(userOffset)) };
  for (let count = LAST_EVENTS; untilSeq >= firstSeq; count = FIRST_EVENTS) {
    const beforeSeq = untilSeq === Infinity ? undefined : untilSeq + 1;
    const config = { afterSeq: firstSeq - 1, beforeSeq, numRecentEvents: count };
    const session = await readWithoutState(service, { ...key, config });
    if (!session) throw goneError(key);
    const { events, lastSeq } = session;
    const first = Math.min(untilSeq, lastSeq) - events.length + 1;
    // A run that has an end keeps it when its waiting calls are cancelled later.
    const isLast = (event: Event): boolean => isReadEvent(event, invocationId) && !hasTag(event, EventTag.cancelled);
    const index = events.findLastIndex(isLast);
    const isOwn = (event: Event): boolean => event.invocationId === invocationId;
    const isLive = events.some((event) => isOwn(event) && isOfLiveRun(event));
    const userIndex = events.findLastIndex(
      (event, at) => isOwn(event) && isOfCaller(event, first + at - firstSeq, isLive),
    );
    if (userIndex >= 0) userOffset = Math.max(userOffset, first + userIndex - firstSeq);
    const last = events[index];
    if (last) {
      const read = await toRead(service, key, last, { seq: first, events });
      return withUser(endAt(read, first + index - firstSeq, end));
    }
    if (events.length === 0) break;
    untilSeq = first - 1;
  }
  return withUser(
    endAt(undefined, 0, end, isCancelledRequest(run) ? 'the request was cancelled before its run began' : undefined),
  );
}

function endAt(
  last: Event | undefined,
  offset: number,
  end: RunOutcome | undefined,
  reason: string = 'the run ended before it was complete',
): EndOfFrames {
  const outcome = end ?? outcomeOfEvent(last);
  if (outcome.state === 'completed') return { outcome, eventPosition: eventPosition(offset) };
  const { errorMessage = reason } = last ?? {};
  // The whole message is in the event before it.
  const error = errorMessage.length > MAX_ERROR_CHARS ? `${errorMessage.slice(0, MAX_ERROR_CHARS)}…` : errorMessage;
  const json = JSON.stringify({ error, code: outcome.code ?? 'INTERNAL' });
  return { outcome, eventPosition: eventPosition(offset), frame: { position: chunkPosition(offset, 1, 1), json } };
}

/**
 * Yields the stored events of a run after a position as frames with their original positions. Pages are read on demand; a page without
 * frames is omitted.
 *
 * @param untilPosition position of the last event; default: the end of the session
 * @param end the last frame of a run that ended there
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function* storedFrames(
  service: BaseSessionService,
  key: SessionKey,
  { invocationId, firstSeq }: RunRecord,
  position: number,
  untilPosition: number = Infinity,
  end?: RunFrame,
): AsyncGenerator<readonly RunFrame[], void, undefined> {
  const afterSeq = firstSeq + (position < MESSAGE_POSITION ? -1 : offsetOf(position));
  const untilSeq = firstSeq + offsetOf(untilPosition);
  const isOwn = (event: Event): boolean => event.invocationId === invocationId;
  for await (const page of eventPages(service, key, { afterSeq, untilSeq })) {
    const frames: RunFrame[] = [];
    const isLive = page.events.some((event) => isOwn(event) && isOfLiveRun(event));
    for (const [index, event] of page.events.entries()) {
      const offset = page.seq + index - firstSeq;
      const isOfUser = isOwn(event) && isOfCaller(event, offset, isLive);
      if (!isOfUser && !isReadEvent(event, invocationId)) continue;
      const read = await toRead(service, key, event, page);
      if (!read) continue;
      const frame = { position: eventPosition(offset) || MESSAGE_POSITION, json: serializeEvent(read) };
      frames.push(isOfUser ? { ...frame, isOfUser } : frame);
    }
    if (frames.length > 0) yield frames;
  }
  if (end && position < end.position) yield [end];
}

/** A log that gets frames from its session. */
type CopiedLog = Pick<RunLog, 'copy' | 'key' | 'lastPosition'>;

/**
 * Adds the frames that a log lacks, for a run that has ended in another process: its stored events, and the frame of its failure.
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function copyEnd(service: BaseSessionService, log: CopiedLog, stored: RunRecord): Promise<void> {
  const { key } = log;
  const { eventPosition: last, frame } = await readEnd(service, key, stored);
  for await (const frames of storedFrames(service, key, stored, log.lastPosition, last, frame)) log.copy(frames);
}

/**
 * Returns the event that readers get for a stored one; undefined for an event that only records agent state, and for a
 * record of an event that the session does not have.
 */
async function toRead(
  service: BaseSessionService,
  key: SessionKey,
  event: Event,
  { seq, events }: ReadEvents,
): Promise<Event | undefined> {
  if (event.object !== ObjectType.runnerStreamed) return event;
  const streamed = await readStreamed(service, key, event, events, seq);
  return streamed && isBookkeeping(streamed) ? undefined : streamed;
}

/**
 * True for a stored event that readers of the run get. Readers do not get the user's own events. They get events of sub-invocations at the
 * run's record of them.
 */
function isReadEvent(event: Event, invocationId: string): boolean {
  if (event.invocationId !== invocationId) return false;
  return event.object === ObjectType.runnerStreamed || (isYielded(event) && !isBookkeeping(event));
}

/**
 * True for an event with what the user said, typed or answered. False for the message that began a text run, which the client that sent it
 * shows, unless it has answers: the requests of an earlier run wait without it.
 * @param isLive true if the run is known to be live
 */
function isOfCaller({ author, content, inputTranscription }: Event, offset: number, isLive: boolean): boolean {
  if (author !== 'user') return false;
  if (inputTranscription) return true;
  const parts = content?.parts ?? [];
  return parts.length > 0 && (isLive || offset > 0 || parts.some(({ functionResponse }) => functionResponse));
}

/** True for an event that only live runs have. */
function isOfLiveRun({ inputTranscription, outputTranscription, turnComplete }: Event): boolean {
  return (inputTranscription ?? outputTranscription ?? turnComplete) !== undefined;
}
