import { enclosureOf } from './branch.ts';
import type { Event } from './event.ts';

/**
 * True when these events, a session's newest in order, go back to the message that a run began with. The event of a message with which
 * a run goes on says so: `goesOn` in its `agentState`.
 */
export function hasBeginOfRun(events: readonly Event[], invocationId: string): boolean {
  const first = events.find((event) => event.invocationId === invocationId);
  // An agent that is called, as a tool or in a node, is told what it is to do as by a user.
  return first?.author === 'user' && enclosureOf(first.branch) === '' && !first.actions.agentState?.['goesOn'];
}
