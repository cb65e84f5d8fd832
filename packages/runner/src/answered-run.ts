import {
  type BaseSessionService,
  type Content,
  type Event,
  hasBeginOfRun,
  InvalidMessageError,
  readNewest,
  SessionBusyError,
  type SessionKey,
} from '@eventloom/core';
import { CallIndex } from './call-index.ts';

/** A message that may answer calls. */
export interface FindAnsweredRunParams {
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage: Content;
}

/**
 * The run that goes on with the answers to these calls: the one that made them, if it can be resumed and did not come to its end.
 * Undefined when the answers begin a run of their own.
 * @throws InvalidMessageError when such a run is one of several that made the calls
 */
export function answeredRun(events: readonly Event[], callIds: readonly string[]): string | undefined {
  if (callIds.length === 0) return undefined;
  const index = new CallIndex(events);
  const ids = new Set<string | undefined>();
  for (const callId of callIds) {
    const invocationId = index.find(callId)?.invocationId;
    // That there is none is told of by whoever reads the answer.
    if (invocationId !== undefined) ids.add(index.isOpen(invocationId) ? invocationId : undefined);
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
  const events = await readNewest(service, key, (read) => areKnown(read, callIds));
  return answeredRun(events, callIds);
}

/** True when the events have the calls and the begins of their runs. */
function areKnown(events: readonly Event[], callIds: readonly string[]): boolean {
  const index = new CallIndex(events);
  const runs = new Set<string>();
  for (const callId of callIds) {
    const call = index.find(callId);
    if (!call) return false;
    runs.add(call.invocationId);
  }
  return [...runs].every((invocationId) => hasBeginOfRun(events, invocationId));
}
