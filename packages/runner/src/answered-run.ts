import {
  type BaseSessionService,
  beginsResumableRun,
  type Content,
  enclosureOf,
  type Event,
  getFunctionCalls,
  hasBeginOfRun,
  InvalidMessageError,
  newestFirst,
  readNewest,
  SessionBusyError,
  type SessionKey,
} from '@eventloom/core';
import { isRunOver } from './resume/events-of-run.ts';

/** A message that may answer calls. */
export interface FindAnsweredRunParams {
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage: Content;
}

/**
 * The event with the call of this id that a response answers: the newest one whose result comes later, and of those that one run has on
 * several branches, because models number the calls of each agent alike, one that is not answered. Without such a call, the newest.
 * What an agent does that is called as a tool is between it and its caller, unless it waits in a run that is open: its call goes on
 * with the answer.
 * @param events the newest first
 * @param taken those that the message answers already
 */
export function findCall(events: readonly Event[], callId: string, taken: readonly Event[] = []): Event | undefined {
  const isLater = ({ longRunningToolIds }: Event): boolean => longRunningToolIds?.includes(callId) === true;
  const calls = events.filter(
    (event) =>
      getFunctionCalls(event).some(({ id }) => id === callId) &&
      (enclosureOf(event.branch) === '' || (isLater(event) && isOpen(events, event.invocationId))),
  );
  // One that came after it on its branch stands in its place.
  const waiting = calls.filter(
    (event) => isLater(event) && calls.find(({ branch }) => branch === event.branch) === event,
  );
  const [newest] = waiting;
  const isUnanswered = (event: Event): boolean =>
    event.invocationId === newest?.invocationId && !taken.includes(event) && !isAnswered(events, event, callId);
  return waiting.find(isUnanswered) ?? newest ?? calls[0];
}

/** True when a call has a response: one that came after it, on its branch. @param events the newest first */
export function isAnswered(events: readonly Event[], asked: Event, callId: string): boolean {
  return events.slice(0, events.indexOf(asked)).some(({ branch, content }) => {
    if (branch !== asked.branch) return false;
    return content?.parts?.some(({ functionResponse }) => functionResponse?.id === callId) ?? false;
  });
}

/** True for a run that can be resumed and did not come to its end. */
function isOpen(events: readonly Event[], invocationId: string): boolean {
  const own = events.filter((event) => event.invocationId === invocationId);
  const first = own.at(-1);
  return first !== undefined && beginsResumableRun(first) && !isRunOver(own);
}

/**
 * The run that goes on with the answers to these calls: the one that made them, if it can be resumed and did not come to its end.
 * Undefined when the answers begin a run of their own.
 * @throws InvalidMessageError when such a run is one of several that made the calls
 */
export function answeredRun(events: readonly Event[], callIds: readonly string[]): string | undefined {
  if (callIds.length === 0) return undefined;
  const newest = [...newestFirst(events)];
  const ids = new Set<string | undefined>();
  for (const callId of callIds) {
    const call = findCall(newest, callId);
    // That there is none is told of by whoever reads the answer.
    if (call) ids.add(isOpen(newest, call.invocationId) ? call.invocationId : undefined);
  }
  const [id] = ids;
  if (ids.size > 1)
    throw new InvalidMessageError(
      'newMessage: answers calls of several runs; send each a message of its own, one after the other',
    );
  return id;
}

/** How often a run is looked up that others change meanwhile. */
const MAX_TRIES = 10;

/**
 * As `answeredRun`, read from the session's newest events.
 * @param tries how often it is looked up for one message, this time included
 * @throws SessionBusyError when that was too often
 * @throws SessionNotFoundError InvalidMessageError
 */
export async function findAnsweredRun(
  service: BaseSessionService,
  key: SessionKey,
  callIds: readonly string[],
  tries = 1,
): Promise<string | undefined> {
  if (callIds.length === 0) return undefined;
  if (tries > MAX_TRIES) throw new SessionBusyError('newMessage: at each look it answered another run; send it later');
  const events = await readNewest(service, key, (read) => callIds.every((callId) => isKnown(read, callId)));
  return answeredRun(events, callIds);
}

/** True when the events have the call and the begin of its run. */
function isKnown(events: readonly Event[], callId: string): boolean {
  const call = findCall([...newestFirst(events)], callId);
  return call !== undefined && hasBeginOfRun(events, call.invocationId);
}
