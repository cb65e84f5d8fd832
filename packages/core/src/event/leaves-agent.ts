import type { EventActions } from './event-actions.ts';

/** True when what tools did ends the agent's turn: a result is the answer as it is, or control goes to another agent. */
export function leavesAgent({ skipSummarization, transferToAgent }: EventActions): boolean {
  return skipSummarization === true || transferToAgent !== undefined;
}
