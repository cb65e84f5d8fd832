import { checkStateDelta, createEvent, type SessionKey, SessionNotFoundError } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import { readWithoutState } from './read-without-state.ts';

/** How long a change of state waits for a run to give the session back. */
const WAIT_MS = 10_000;

/**
 * Changes the state of a session by an event of its own, under a lease as a run takes one.
 * @throws SessionNotFoundError SessionBusyError StateKeyError StateValueError SizeLimitError; nothing is changed then
 */
export async function patchState(
  { sessionService, platform }: Runner,
  key: SessionKey,
  stateDelta: Readonly<Record<string, unknown>>,
): Promise<void> {
  const checked = checkStateDelta(stateDelta);
  const lease = await sessionService.acquireLease({ ...key, waitMs: WAIT_MS });
  try {
    const session = await readWithoutState(sessionService, { ...key, config: { numRecentEvents: 0 } });
    if (!session) throw new SessionNotFoundError(`session ${JSON.stringify(key.sessionId)} does not exist`);
    const event = createEvent({
      id: platform.newEventId(),
      invocationId: `p-${platform.newUuid()}`,
      author: 'user',
      timestamp: platform.now() / 1000,
      actions: { stateDelta: checked },
    });
    await sessionService.appendEvent({ session, event, lease });
  } finally {
    await sessionService.releaseLease(lease);
  }
}
