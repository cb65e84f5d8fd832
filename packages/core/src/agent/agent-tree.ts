import { describeKind } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseAgent } from './base-agent.ts';
import { isBaseAgent } from './is-base-agent.ts';

/**
 * Indexes all descendants of an agent, given its sub-agents, by name.
 * @throws ConfigurationError for a sub-agent that is no agent or has a parent already, and for a name that two agents have
 */
export function indexSubAgents(name: string, subAgents: readonly BaseAgent[]): ReadonlyMap<string, BaseAgent> {
  const owner = `agent "${name}"`;
  const byName = new Map<string, BaseAgent>();
  const add = (agent: BaseAgent): void => {
    if (agent.name === name || byName.has(agent.name)) {
      throw new ConfigurationError(`${owner}: two agents of its tree have the name "${agent.name}"; names are unique`);
    }
    byName.set(agent.name, agent);
    for (const below of agent.subAgents) add(below);
  };
  for (const agent of subAgents) {
    if (!isBaseAgent(agent))
      throw new ConfigurationError(`${owner}: subAgents must be agents, one is ${describeKind(agent)}`);
    if (agent.parentAgent) {
      throw new ConfigurationError(
        `${owner}: sub-agent "${agent.name}" has the parent "${agent.parentAgent.name}" already; make an agent for each place`,
      );
    }
    add(agent);
  }
  return byName;
}
