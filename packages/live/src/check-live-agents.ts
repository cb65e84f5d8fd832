import { type BaseAgent, ConfigurationError } from '@eventloom/core';
import { isLlmAgent } from '@eventloom/llm-agent';
import { transferTargets } from '@eventloom/multi-agent';

/**
 * Checks the agent that a live run begins with and all that may get the call from there, so that no call dies at a hand-over.
 * @param root the top of the tree that is run
 * @throws ConfigurationError for one that cannot run live
 */
export function checkLiveAgents(agent: BaseAgent, root: BaseAgent): void {
  check(agent, root, new Set());
}

function check(agent: BaseAgent, root: BaseAgent, checked: Set<BaseAgent>): void {
  if (checked.has(agent)) return;
  checked.add(agent);
  if (!agent.canRunLive)
    throw new ConfigurationError(
      `runLive: agent "${agent.name}" may get the call and has no live runs: take it out of the tree`,
    );
  if (isLlmAgent(agent) && agent.outputSchema !== undefined)
    throw new ConfigurationError(`runLive: agent "${agent.name}" has an outputSchema, and what is said live has none`);
  // Others run those below them as they see fit.
  const next = agent.transferRules
    ? transferTargets(agent, root)
    : agent.subAgents.filter(({ canRunLive }) => canRunLive);
  for (const other of next) check(other, root, checked);
}
