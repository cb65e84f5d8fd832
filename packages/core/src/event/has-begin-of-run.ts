import { beginsResumableRun } from './begins-resumable-run.ts';
import { getFunctionCalls, getFunctionResponses } from './event-predicates.ts';
import { enclosureOf } from './branch.ts';
import type { Event } from './event.ts';

/**
 * True when these events, a session's newest in order, go back to the message that a run began with. One with answers may go on with a
 * run: it began its run when that says so, or when all calls that it answers are there and are of other runs.
 */
export function hasBeginOfRun(events: readonly Event[], invocationId: string): boolean {
  const index = events.findIndex((event) => event.invocationId === invocationId);
  const first = events[index];
  // An agent that is called, as a tool or in a node, is told what it is to do as by a user.
  if (first?.author !== 'user' || enclosureOf(first.branch) !== '') return false;
  if (beginsResumableRun(first)) return true;
  const before = events.slice(0, index);
  return getFunctionResponses(first).every(({ id }) =>
    before.some((event) => getFunctionCalls(event).some((call) => call.id === id)),
  );
}
