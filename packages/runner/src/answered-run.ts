import { type BaseSessionService, type Event, InvalidMessageError, type SessionKey } from '@eventloom/core';
import { Calls, hasBeginOfRun, readNewest } from '@eventloom/core/internal';

/**
 * Returns the run that the answers to these calls continue: the one that made the calls, if it can continue. Undefined
 * if the answers start a new run.
 *
 * @throws InvalidMessageError if the calls are of several runs and one of these can continue
 */
export function answeredRun(calls: Calls, callIds: readonly string[]): string | undefined {
  const ids = new Set<string | undefined>();
  for (const call of calls.answerable(callIds)) {
    const invocationId = call?.event.invocationId;
    // An answer without a call is refused when the message is matched to its calls.
    if (invocationId !== undefined) ids.add(calls.canContinue(invocationId) ? invocationId : undefined);
  }
  const [id] = ids;
  if (ids.size > 1)
    throw new InvalidMessageError('newMessage: answers calls of several runs; send one message per run');
  return id;
}

/**
 * Finds the run as `answeredRun` does, after reading the session's newest events.
 *
 * @throws SessionNotFoundError, InvalidMessageError
 */
export async function findAnsweredRun(
  service: BaseSessionService,
  key: SessionKey,
  callIds: readonly string[],
): Promise<string | undefined> {
  const events = await readNewest(service, key, (read) => areKnown(read, callIds));
  return answeredRun(new Calls(events), callIds);
}

/** True if the events contain these calls, and the first events of all runs that they may be of. */
export function areKnown(events: readonly Event[], callIds: readonly string[]): boolean {
  const calls = new Calls(events);
  const found = calls.answerable(callIds);
  // Whether a call of an agent that runs as a tool can be answered depends on its run.
  const ids = new Set(callIds);
  const waiting = calls.waiting.filter(({ id }) => ids.has(id));
  const runs = new Set([...found, ...waiting].map((call) => call?.event.invocationId));
  return [...runs].every((invocationId) => invocationId !== undefined && hasBeginOfRun(events, invocationId));
}
