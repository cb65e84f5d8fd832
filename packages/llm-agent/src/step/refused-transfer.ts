import type { BaseAgent, EventActions } from '@eventloom/core';
import type { AgentTurn } from '../agent-turn.ts';

/**
 * What the model is told of a hand-over that a tool asked for and that cannot be: the tree has no such agent, it is the agent itself, or
 * the agent's transfer rules forbid it. The action is taken back. Undefined when there is nothing to refuse.
 */
export function refusedTransfer({ agent, context }: AgentTurn, actions: EventActions): { error: string } | undefined {
  const name = actions.transferToAgent;
  if (name === undefined) return undefined;
  const reason = faultOf(agent, context.invocation.rootAgent, name);
  if (reason === undefined) return undefined;
  delete actions.transferToAgent;
  return { error: `cannot hand over to ${JSON.stringify(name)}: ${reason}` };
}

function faultOf(agent: BaseAgent, root: BaseAgent, name: string): string | undefined {
  if (name === agent.name) return 'it has control already';
  const target = root.findAgent(name);
  if (!target) return 'there is no agent of that name';
  if (agent.findSubAgent(name)) return undefined;
  const isAbove = target.findSubAgent(agent.name) !== undefined;
  const rules = agent.transferRules;
  if (isAbove) return rules?.toParent === false ? 'this agent may not hand over to those above it' : undefined;
  return rules?.toPeers === false ? 'this agent may hand over to none beside it' : undefined;
}
