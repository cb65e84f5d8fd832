import { type Event, InvalidRequestError, ObjectType } from '@eventloom/core';
import { enclosureOf } from '@eventloom/core/internal';

/** Positions per event of the session. */
const PER_EVENT = 1_000_000_000;
/** Positions behind an event for the chunks of one attempt at the run. */
const PER_ATTEMPT = 1_000_000;
const MAX_ATTEMPTS = 998;

/**
 * The position of an event that is stored: its place in the session behind the run's message, which has 0. Positions are integers, so
 * that they are exact; as the number of a frame they are written with up to nine decimals.
 * @param seq see `RunStream.seq`
 */
export function eventPosition(seq: number): number {
  return seq * PER_EVENT;
}

/**
 * The position of a frame that is only streamed: behind a stored event, behind all chunks of earlier attempts, and before the next
 * stored event, which supersedes it.
 * @param attempt from 1; grows with each attempt at the run; 0 for a run that has not begun counts as 1
 * @param chunk counts from 1 behind each stored event
 */
export function chunkPosition(seq: number, attempt: number, chunk: number): number {
  const offset = ((Math.max(attempt - 1, 0) % MAX_ATTEMPTS) + 1) * PER_ATTEMPT + chunk;
  return seq * PER_EVENT + Math.min(offset, PER_EVENT - 1);
}

/** The place in the session, behind the run's message, of the newest stored event at or before a position. */
export function seqOf(position: number): number {
  return Math.floor(position / PER_EVENT);
}

/** The number of a frame as its text: what its reader sends as `Last-Event-ID`. Equal numbers have equal texts. */
export function formatPosition(position: number): string {
  // No frame has a position that would be written with an exponent: chunks begin at PER_ATTEMPT.
  return String(position / PER_EVENT);
}

/** Reads the number of a frame. @throws InvalidRequestError for anything that is no such number */
export function parsePosition(name: string, text: string): number {
  const [, seq = '', decimals = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (seq !== '') return Number(seq) * PER_EVENT + Number(decimals.padEnd(9, '0'));
  throw new InvalidRequestError(
    `${name}: must be the number of a frame, such as 3 or 3.001000002, is ${JSON.stringify(text)}`,
  );
}

/** True for an event that only records where a resumable agent is: it is stored, and no reader of a run gets it. */
export function isBookkeeping({ content, errorCode, actions }: Event): boolean {
  if (content !== undefined || errorCode !== undefined) return false;
  const { endOfAgent, agentState, stateDelta, artifactDelta, ...others } = actions;
  if (endOfAgent === undefined && agentState === undefined) return false;
  return Object.keys(stateDelta).length + Object.keys(artifactDelta).length + Object.keys(others).length === 0;
}

/**
 * True for a stored event that a reader of the run gets: not the user's own, and not those of sub-invocations. In place of the latter their
 * readers get them where the run yielded them, from its record of that.
 */
export function isReadEvent(event: Event, invocationId: string): boolean {
  if (event.invocationId !== invocationId || event.author === 'user') return false;
  if (event.object === ObjectType.runnerEnd || event.actions.compaction) return false;
  if (event.object === ObjectType.runnerStreamed) return true;
  return enclosureOf(event.branch) === '' && !isBookkeeping(event);
}
