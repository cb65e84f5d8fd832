import { type BaseAgent, type BaseAgentConfig, ConfigurationError, type InvocationContext } from '@eventloom/core';

/** Key in a checkpoint for the name of the sub-agent that runs. */
export const CURRENT_SUB_AGENT = 'currentSubAgent';

/**
 * Returns the index of the sub-agent to run next, from the agent's last checkpoint; 0 without a checkpoint.
 * @throws ConfigurationError if the agent no longer has a sub-agent of the recorded name
 */
export function currentSubAgent({ agentState, agent }: InvocationContext, subAgents: readonly BaseAgent[]): number {
  const name = agentState?.[CURRENT_SUB_AGENT];
  if (name === undefined) return 0;
  const index = subAgents.findIndex((child) => child.name === name);
  if (index >= 0) return index;
  throw new ConfigurationError(
    `agent "${agent.name}": cannot be resumed at ${JSON.stringify(name)}, which is not one of its sub-agents; the agents changed since the run began, so start a new run`,
  );
}

/** @throws ConfigurationError for options of a workflow agent that have no `subAgents`: such an agent would run nothing */
export function requireSubAgents({ name, subAgents }: BaseAgentConfig): void {
  if (subAgents === undefined)
    throw new ConfigurationError(`agent "${name}": subAgents is missing; write subAgents: [first, second]`);
}
