import {
  type BaseSessionService,
  type Event,
  ObjectType,
  type RunOutcome,
  type RunRecord,
  serializeEvent,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { isBookkeeping, isYielded, outcomeOfEvent, readStreamed } from '@eventloom/core/internal';
import { readWithoutState } from '../http/session-response.ts';
import { chunkPosition, eventPosition, offsetOf } from './run-log.ts';
import type { RunFrame } from './run-relay.ts';

/** Events that are read first at the end of a run: the last one is among them, unless agents as tools came after it. */
const LAST_EVENTS = 5;
const FIRST_EVENTS = 100;
const MAX_EVENTS = 1000;
const MAX_ERROR_CHARS = 10_000;
/** The size of a page of events, in characters, or in bytes where the service counts. */
const PAGE_CHARS = 1024 * 1024;

/** Consecutive events of a session. */
interface FramePage {
  /** The sequence number of the first. */
  readonly seq: number;
  readonly events: readonly Event[];
  /** Characters of what was made of the events: the next page is as large as that allows. */
  chars: number;
}

/**
 * Yields the events of a session after a sequence number, up to another one or the newest, page by page. A page is read when it is requested.
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
export async function* eventPages(
  service: BaseSessionService,
  key: SessionKey,
  afterSeq: number,
  untilSeq: number,
): AsyncGenerator<FramePage, void, undefined> {
  let count = FIRST_EVENTS;
  let incarnation: string | undefined;
  let lastSeq = untilSeq;
  for (let seq = afterSeq; seq < lastSeq;) {
    const most = Math.min(count, lastSeq - seq);
    const window = { afterSeq: seq, beforeSeq: seq + most + 1 };
    count = Math.max(1, Math.min(most, (await service.countWithin?.({ ...key, config: window }, PAGE_CHARS)) ?? most));
    const session = await readWithoutState(service, { ...key, config: { afterSeq: seq, beforeSeq: seq + count + 1 } });
    if (!session || (incarnation !== undefined && session.incarnation !== incarnation)) {
      throw goneError(key);
    }
    incarnation = session.incarnation;
    lastSeq = Math.min(lastSeq, session.lastSeq);
    const page: FramePage = { seq: seq + 1, events: session.events, chars: 1 };
    seq += count;
    if (page.events.length > 0) yield page;
    count = Math.max(1, Math.min(MAX_EVENTS, Math.floor((count * PAGE_CHARS) / page.chars)));
  }
}

/**
 * Finds the message of a request in its session.
 * @param id the request id; for a request without one, the invocation id of the run that it began
 * @returns the id of the run that has the message; undefined if it is not stored
 */
export async function findMessage(
  service: BaseSessionService,
  key: SessionKey,
  id: string,
): Promise<string | undefined> {
  const record = await service.findRun({ ...key, id });
  if (!record) return undefined;
  const { invocationId, firstSeq } = record;
  for await (const { events } of eventPages(service, key, firstSeq - 1, Infinity))
    for (const event of events)
      if (event.author === 'user' && (event.requestId ?? event.invocationId) === id) return invocationId;
  return undefined;
}

/** The end of the frames of a run that has ended. */
export interface EndOfFrames {
  /** The outcome of the run. */
  readonly outcome: RunOutcome;
  /** The position of the last stored event that a reader gets; 0 for none. */
  readonly eventPosition: number;
  /** The last frame of a run that did not complete: `{error, code}`, as its log had it. */
  readonly frame?: RunFrame;
}

/** Finds where the frames of a run end: at the number that its record names, or for a run whose record names none, at its last event. */
export async function readEnd(
  service: BaseSessionService,
  key: SessionKey,
  { invocationId, firstSeq, end }: RunRecord,
): Promise<EndOfFrames> {
  let untilSeq = end?.lastSeq ?? Infinity;
  for (let count = LAST_EVENTS; untilSeq >= firstSeq; count = FIRST_EVENTS) {
    const beforeSeq = untilSeq === Infinity ? undefined : untilSeq + 1;
    const config = { afterSeq: firstSeq - 1, beforeSeq, numRecentEvents: count };
    const session = await readWithoutState(service, { ...key, config });
    if (!session) throw goneError(key);
    const { events, lastSeq } = session;
    const first = Math.min(untilSeq, lastSeq) - events.length + 1;
    const index = events.findLastIndex((event) => isReadEvent(event, invocationId));
    const last = events[index];
    if (last) {
      const read = await toRead(service, key, last, { seq: first, events });
      return endAt(read, first + index - firstSeq, end);
    }
    if (events.length === 0) break;
    untilSeq = first - 1;
  }
  return endAt(undefined, 0, end);
}

function endAt(last: Event | undefined, offset: number, end: RunOutcome | undefined): EndOfFrames {
  const outcome = end ?? outcomeOfEvent(last);
  if (outcome.state === 'completed') return { outcome, eventPosition: eventPosition(offset) };
  const { errorMessage = 'the run ended before it was done' } = last ?? {};
  // The whole message is in the event before.
  const error = errorMessage.length > MAX_ERROR_CHARS ? `${errorMessage.slice(0, MAX_ERROR_CHARS)}…` : errorMessage;
  const json = JSON.stringify({ error, code: outcome.code ?? 'INTERNAL' });
  return { outcome, eventPosition: eventPosition(offset), frame: { position: chunkPosition(offset, 1, 1), json } };
}

/**
 * The stored events of a run behind a position as frames, with the positions that they had when they were made. Pages are read when they
 * are asked for; one without a frame is left out.
 * @param untilPosition the last event; default: the end of the session
 * @param end the last frame, of a run that has ended there
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
  const untilSeq = firstSeq + offsetOf(untilPosition);
  for await (const page of eventPages(service, key, firstSeq + offsetOf(position), untilSeq)) {
    const frames: RunFrame[] = [];
    for (const [index, event] of page.events.entries()) {
      if (!isReadEvent(event, invocationId)) continue;
      const read = await toRead(service, key, event, page);
      if (!read) continue;
      const json = serializeEvent(read);
      frames.push({ position: eventPosition(page.seq + index - firstSeq), json });
      page.chars += json.length;
    }
    if (frames.length > 0) yield frames;
  }
  if (end && position < end.position) yield [end];
}

/** The event that a reader gets for a stored one; undefined for a record of an event that is not in the session, or only keeps books. */
async function toRead(
  service: BaseSessionService,
  key: SessionKey,
  event: Event,
  { seq, events }: Pick<FramePage, 'seq' | 'events'>,
): Promise<Event | undefined> {
  if (event.object !== ObjectType.runnerStreamed) return event;
  const streamed = await readStreamed(service, key, event, events, seq);
  return streamed && isBookkeeping(streamed) ? undefined : streamed;
}

function goneError({ sessionId }: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`session ${JSON.stringify(sessionId)} was deleted while the run was read`);
}

/**
 * True for a stored event that a reader of the run gets: not the user's own, and not those of sub-invocations. In place of the latter their
 * readers get them where the run yielded them, from its record of that.
 */
function isReadEvent(event: Event, invocationId: string): boolean {
  if (event.invocationId !== invocationId) return false;
  return event.object === ObjectType.runnerStreamed || (isYielded(event) && !isBookkeeping(event));
}
