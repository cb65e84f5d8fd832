import type { EventActions } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';

/**
 * What the model is told of a hand-over that a tool asked for and that cannot be, because the tree has no such agent or it is the
 * agent itself. The action is taken back. Undefined when there is nothing to refuse.
 */
export function refusedTransfer({ agent, context }: Step, actions: EventActions): { error: string } | undefined {
  const name = actions.transferToAgent;
  if (name === undefined || (name !== agent.name && context.invocation.rootAgent.findAgent(name))) return undefined;
  delete actions.transferToAgent;
  const reason = name === agent.name ? 'it has control already' : 'there is no agent of that name';
  return { error: `cannot hand over to ${JSON.stringify(name)}: ${reason}` };
}
