import {
  type BaseSessionService,
  type Event,
  ObjectType,
  type RunRecord,
  serializeEvent,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { readWithoutState } from '../http/session-response.ts';
import { chunkPosition, eventPosition, isReadEvent, seqOf } from './frame-position.ts';
import type { RunFrame } from './run-relay.ts';

const FIRST_EVENTS = 100;
const MAX_EVENTS = 1000;
const MAX_ERROR_CHARS = 10_000;
/** The size of a page of events, in characters, or in bytes where the service counts. */
const PAGE_CHARS = 1024 * 1024;

/** Consecutive events of a session. */
interface EventPage {
  /** The sequence number of the first. */
  readonly seq: number;
  readonly events: readonly Event[];
  /** Characters of what was made of the events: the next page is as large as that allows. */
  chars: number;
}

/**
 * The events of a session behind a sequence number, up to another one, or to the newest. A page is read when it is asked for.
 * @throws SessionNotFoundError when the session is deleted meanwhile
 */
export async function* eventPages(
  service: BaseSessionService,
  key: SessionKey,
  afterSeq: number,
  untilSeq: number,
): AsyncGenerator<EventPage, void, undefined> {
  let count = FIRST_EVENTS;
  let incarnation: string | undefined;
  let lastSeq = untilSeq;
  for (let seq = afterSeq; seq < lastSeq;) {
    const most = Math.min(count, lastSeq - seq);
    const window = { afterSeq: seq, beforeSeq: seq + most + 1 };
    count = Math.max(1, Math.min(most, (await service.countWithin?.({ ...key, config: window }, PAGE_CHARS)) ?? most));
    const session = await readWithoutState(service, { ...key, config: { afterSeq: seq, beforeSeq: seq + count + 1 } });
    if (!session || (incarnation !== undefined && session.incarnation !== incarnation)) {
      throw new SessionNotFoundError(`session ${JSON.stringify(key.sessionId)} was deleted while the run was read`);
    }
    incarnation = session.incarnation;
    lastSeq = Math.min(lastSeq, session.lastSeq);
    const page: EventPage = { seq: seq + 1, events: session.events, chars: 1 };
    seq += count;
    if (page.events.length > 0) yield page;
    count = Math.max(1, Math.min(MAX_EVENTS, Math.floor((count * PAGE_CHARS) / page.chars)));
  }
}

/**
 * The stored events of a run behind a position as frames, with the positions that they had when they were made. Pages are read when they
 * are asked for; one without a frame is left out.
 * @param untilSeq the last event, counted from the run's message; default: the end of the session
 * @param isEnded whether the run has ended there: the last frame of a run that failed is then `{error, code}`, as its log had it
 * @throws SessionNotFoundError when the session is deleted meanwhile
 */
export async function* storedFrames(
  service: BaseSessionService,
  key: SessionKey,
  { invocationId, firstSeq }: RunRecord,
  position: number,
  untilSeq: number = Infinity,
  isEnded = false,
): AsyncGenerator<readonly RunFrame[], void, undefined> {
  let last: Event | undefined;
  let lastSeq = 0;
  for await (const page of eventPages(service, key, firstSeq + seqOf(position), firstSeq + untilSeq)) {
    const frames: RunFrame[] = [];
    for (const [index, event] of page.events.entries()) {
      if (!isReadEvent(event, invocationId)) continue;
      const json = serializeEvent(event);
      last = event;
      lastSeq = page.seq + index - firstSeq;
      frames.push({ position: eventPosition(lastSeq), json });
      page.chars += json.length;
    }
    if (frames.length > 0) yield frames;
  }
  if (!isEnded || !last || !isRunFailure(last)) return;
  const { errorMessage = '', errorCode: code = 'INTERNAL' } = last;
  // The whole message is in the event before.
  const error = errorMessage.length > MAX_ERROR_CHARS ? `${errorMessage.slice(0, MAX_ERROR_CHARS)}…` : errorMessage;
  yield [{ position: chunkPosition(lastSeq, 1, 1), json: JSON.stringify({ error, code }) }];
}

/** True for the event that says why a run failed. An error in a model's reply, after which a run may go on, has the id of that reply. */
function isRunFailure({ object, content, responseId }: Event): boolean {
  return object === ObjectType.error && content === undefined && responseId === undefined;
}
