import { type BaseAgent, type BaseSessionService, readNewest, type Session, sessionKeyOf } from '@eventloom/core';
import { findSpeaker, rememberSpeaker } from './pick-agent.ts';

/**
 * Finds out who spoke last in a session that was read from its last compaction on, when nobody did since: the summary says what was
 * said, and not who goes on.
 */
export async function recallSpeaker(
  root: BaseAgent,
  { session, derived }: { readonly session: Session; readonly derived: Map<unknown, unknown> },
  service: BaseSessionService,
): Promise<void> {
  const { events } = session;
  if (root.subAgents.length === 0 || findSpeaker(root, events, undefined)) return;
  const newest = await readNewest(
    service,
    sessionKeyOf(session),
    (read) => findSpeaker(root, read, undefined) !== undefined,
  );
  const speaker = findSpeaker(root, newest, undefined);
  if (speaker) rememberSpeaker(derived, events.length, speaker);
}
