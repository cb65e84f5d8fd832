import { type BaseAgent, BaseLlm } from '@eventloom/core';

/** An agent as Studio draws it. */
export interface AgentDescription {
  readonly name: string;
  /** Name of its class, such as `LlmAgent`. */
  readonly kind: string;
  readonly description: string;
  /** Name of its model; absent for agents without one. */
  readonly model?: string;
  readonly tools: readonly ToolDescription[];
  readonly subAgents: readonly AgentDescription[];
  /** Agents that this agent calls as tools or runs as nodes. */
  readonly calledAgents: readonly AgentDescription[];
  /** True for an agent that is described earlier in the tree: here it has no tools and no agents below it. Absent for others. */
  readonly isRepeated?: true;
}

/** A tool of an agent. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
}

/**
 * Describes an agent and all agents and tools that it runs, each agent once: several may call the same one, or call
 * each other in a circle. Names toolsets without listing their tools.
 */
export function describeAgent(agent: BaseAgent, described = new Set<BaseAgent>()): AgentDescription {
  const model = modelName('model' in agent ? agent.model : undefined);
  const own = {
    name: agent.name,
    kind: kindOf(agent),
    description: agent.description,
    ...(model === undefined ? {} : { model }),
  };
  if (described.has(agent)) return { ...own, tools: [], subAgents: [], calledAgents: [], isRepeated: true };
  described.add(agent);
  const tools = 'tools' in agent && Array.isArray(agent.tools) ? agent.tools : [];
  return {
    ...own,
    tools: tools.flatMap(describeTool),
    subAgents: agent.subAgents.map((each) => describeAgent(each, described)),
    calledAgents: agent.calledAgents.map((each) => describeAgent(each, described)),
  };
}

/** True if the agent can run live. Also true for a model that is given by its name, because it is resolved only in a run. */
export function canSpeak(agent: BaseAgent): boolean {
  const model = 'model' in agent ? agent.model : undefined;
  return agent.canRunLive && !(model instanceof BaseLlm && model.connect === BaseLlm.prototype.connect);
}

/** Returns the name of an agent's class. A bundler may have shortened it, so known classes are recognized by their properties. */
function kindOf(agent: BaseAgent): string {
  if ('instruction' in agent) return 'LlmAgent';
  if ('maxIterations' in agent) return 'LoopAgent';
  if ('~eventloom.adk-workflow' in agent) return 'Workflow';
  const { name } = agent.constructor;
  return name.endsWith('Agent') ? name : 'Agent';
}

function modelName(model: unknown): string | undefined {
  if (typeof model === 'string') return model === '' ? undefined : model;
  return typeof model === 'object' && model !== null && 'model' in model && typeof model.model === 'string'
    ? model.model
    : undefined;
}

function describeTool(tool: unknown): ToolDescription[] {
  if (typeof tool !== 'object' || tool === null) return [];
  const name = 'name' in tool && typeof tool.name === 'string' ? tool.name : tool.constructor.name;
  const description = 'description' in tool && typeof tool.description === 'string' ? tool.description : '';
  return [{ name, description }];
}
