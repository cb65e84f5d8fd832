import { type BaseAgent, ConfigurationError, type InvocationContext } from '@eventloom/core';

/** The key of a checkpoint that names the sub-agent that has its turn. */
export const CURRENT_SUB_AGENT = 'currentSubAgent';

/**
 * The place of the sub-agent that has its turn, by the agent's last checkpoint; the first one's for an agent that begins.
 * @throws ConfigurationError when the agent has no sub-agent of that name any more
 */
export function currentSubAgent({ agentState, agent }: InvocationContext, subAgents: readonly BaseAgent[]): number {
  const name = agentState?.[CURRENT_SUB_AGENT];
  if (name === undefined) return 0;
  const index = subAgents.findIndex((child) => child.name === name);
  if (index >= 0) return index;
  throw new ConfigurationError(
    `agent "${agent.name}": cannot be resumed at ${JSON.stringify(name)}, it has no such sub-agent`,
  );
}
