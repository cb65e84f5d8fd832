import { type BaseAgent, TRANSFER_TO_AGENT } from '@eventloom/core';

/**
 * Lists the agents that an agent's model may transfer to: its sub-agents, its parent, then its peers, as far as its
 * transfer rules allow. A parent without a model of its own (a workflow agent, which keeps its order) is left out.
 * @param root the top of the tree that runs; agents above it are ignored
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

/** Makes the instruction that describes the agents that the model may transfer to. */
export function transferInstruction(agent: BaseAgent, targets: readonly BaseAgent[]): string {
  const list = targets.map(({ name, description }) => `- ${name}${description === '' ? '' : `: ${description}`}`);
  const parent = targets.find((target) => target === agent.parentAgent);
  return [
    `You can hand the conversation over to one of these agents:\n${list.join('\n')}`,
    `Answer yourself when the request is within what you are for. When it suits one of them better, call \`${TRANSFER_TO_AGENT}\` with the agent's name and write nothing beside the call.`,
    ...(parent
      ? [`When it suits neither you nor any other of them, hand over to \`${parent.name}\`, who is above you.`]
      : []),
  ].join('\n\n');
}
