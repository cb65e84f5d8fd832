import { type BaseAgent } from '@eventloom/core';
import { TRANSFER_TO_AGENT } from '@eventloom/core/internal';

/**
 * Lists the agents that an agent's model may transfer to: its sub-agents, then its parent and its peers if its transfer rules allow them.
 * Leaves out the parent and the peers if the parent has no model, because a workflow agent determines the order itself.
 * @param root root of the tree that runs; agents above it are ignored
 */
export function transferTargets(agent: BaseAgent, root: BaseAgent): BaseAgent[] {
  const rules = agent.transferRules;
  if (!rules) return [];
  const targets = [...agent.subAgents];
  const parent = agent === root ? undefined : agent.parentAgent;
  if (!parent?.transferRules) return targets;
  if (rules.toParent) targets.push(parent);
  if (rules.toPeers) targets.push(...parent.subAgents.filter((peer) => peer !== agent));
  return targets;
}

/** Returns the instruction that describes the agents that the model may transfer to. */
export function transferInstruction(agent: BaseAgent, targets: readonly BaseAgent[]): string {
  const list = targets.map(({ name, description }) => `- ${name}${description === '' ? '' : `: ${description}`}`);
  const parent = targets.find((target) => target === agent.parentAgent);
  return [
    `You can transfer the conversation to one of these agents:\n${list.join('\n')}`,
    `Answer yourself when the request is within what you are for. When it suits one of them better, call \`${TRANSFER_TO_AGENT}\` with the agent's name and write nothing beside the call.`,
    ...(parent
      ? [`When it suits neither you nor any other of them, transfer to \`${parent.name}\`, who is above you.`]
      : []),
  ].join('\n\n');
}
