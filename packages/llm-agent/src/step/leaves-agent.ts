import type { EventActions } from '@eventloom/core';

/** True when what tools did ends the agent's turn: a result is the answer as it is, control goes to another agent, or a loop is left. */
export function leavesAgent({ skipSummarization, transferToAgent, escalate }: EventActions): boolean {
  return skipSummarization === true || transferToAgent !== undefined || escalate === true;
}
