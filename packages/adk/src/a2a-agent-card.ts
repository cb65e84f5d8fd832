import { type BaseAgent, ConfigurationError, type InvocationContext, ReadonlyContext } from '@eventloom/core';
import { describeKind, isBaseAgent, isBaseTool, isBaseToolset, isRecord } from '@eventloom/core/internal';
import { isLlmAgent, type LlmAgent } from '@eventloom/llm-agent';
import { isLoopAgent, isParallelAgent, isSequentialAgent } from './agent-guards.ts';
import { getLogger } from './logger.ts';
import { isWorkflow } from './workflow/workflow.ts';

/** An address of an agent in a card of A2A 0.3. */
export interface A2aAgentInterface {
  readonly url: string;
  /** `JSONRPC`, `HTTP+JSON` or `GRPC`. */
  readonly transport: string;
}

/** A skill in a card of A2A 0.3. */
export interface A2aAgentSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
}

/** A card of A2A 0.3: the fields that `getA2AAgentCard` fills in. */
export interface A2aAgentCard {
  name: string;
  description: string;
  protocolVersion: string;
  version: string;
  skills: A2aAgentSkill[];
  url: string;
  preferredTransport?: string;
  capabilities: {
    extensions?: { uri: string }[];
    stateTransitionHistory?: boolean;
    pushNotifications?: boolean;
    streaming?: boolean;
  };
  defaultInputModes: string[];
  defaultOutputModes: string[];
  additionalInterfaces?: { url: string; transport: string }[];
}

/**
 * Returns the card of an agent for clients of A2A 0.3, with the agent's instruction and tools in its skills. The cards of `a2a` of
 * `@eventloom/a2a` name no tools and no instructions.
 * @param transports the addresses of the agent, the preferred one first
 * @throws ConfigurationError for a value that is not an agent, and for a list without an address
 */
export async function getA2AAgentCard(
  agent: BaseAgent,
  transports: readonly A2aAgentInterface[],
): Promise<A2aAgentCard> {
  const write = `write getA2AAgentCard(rootAgent, [{ url: 'http://localhost:8000/jsonrpc', transport: 'JSONRPC' }])`;
  if (!isBaseAgent(agent))
    throw new ConfigurationError(`getA2AAgentCard: expected an agent, got ${describeKind(agent)}; ${write}`);
  if (!Array.isArray(transports) || transports.length === 0)
    throw new ConfigurationError(
      `getA2AAgentCard: transports: expected a list of addresses, got ${Array.isArray(transports) ? 'an empty list' : describeKind(transports)}; ${write}`,
    );
  for (const [index, each] of transports.entries())
    if (!isRecord(each) || typeof each['url'] !== 'string' || typeof each['transport'] !== 'string')
      throw new ConfigurationError(
        `getA2AAgentCard: transports[${index}]: expected { url, transport }, got ${describeKind(each)}; ${write}`,
      );
  const [first] = transports;
  return {
    name: agent.name,
    description: agent.description,
    protocolVersion: '0.3.0',
    version: '1.0.0',
    skills: [...(await skillsOf(agent)), ...(await subAgentSkills(agent))],
    url: first?.url ?? '',
    preferredTransport: first?.transport ?? 'JSONRPC',
    capabilities: { extensions: [], stateTransitionHistory: false, pushNotifications: false, streaming: true },
    defaultInputModes: ['text'],
    defaultOutputModes: ['text'],
    additionalInterfaces: transports.map((each) => ({ ...each })),
  };
}

async function subAgentSkills(agent: BaseAgent): Promise<A2aAgentSkill[]> {
  const skills: A2aAgentSkill[] = [];
  for (const { name, skill } of await skillsOfAll(isWorkflow(agent) ? [] : agent.subAgents))
    skills.push({
      id: `${name}_${skill.id}`,
      name: `${name}: ${skill.name}`,
      description: skill.description,
      tags: [`sub_agent:${name}`, ...skill.tags],
    });
  return skills;
}

async function skillsOfAll(
  agents: readonly BaseAgent[],
): Promise<{ readonly name: string; readonly skill: A2aAgentSkill }[]> {
  const lists = agents.map(async (agent) => (await skillsOf(agent)).map((skill) => ({ name: agent.name, skill })));
  return (await Promise.all(lists)).flat();
}

async function skillsOf(agent: BaseAgent): Promise<A2aAgentSkill[]> {
  const { name, description, subAgents } = agent;
  if (isWorkflow(agent))
    return [{ id: name, name: 'workflow', description: description || `Workflow ${name}`, tags: ['workflow'] }];
  if (isLlmAgent(agent)) return llmAgentSkills(agent);
  const { tag, summary } = kindOf(agent);
  const skill = {
    id: name,
    name: tag === 'custom_agent' ? 'custom' : 'workflow',
    description: [description, stepsOf(agent)].filter((text) => text !== '').join(' ') || summary,
    tags: [tag],
  };
  if (subAgents.length === 0) return [skill];
  const orchestrated = subAgents.map((each) => each.description || 'No description').join('; ');
  return [
    skill,
    {
      id: `${name}-sub-agents`,
      name: 'sub-agents',
      description: `Orchestrates: ${orchestrated}`,
      tags: [tag, 'orchestration'],
    },
  ];
}

async function llmAgentSkills(agent: LlmAgent): Promise<A2aAgentSkill[]> {
  const root = agent.rootAgent;
  const texts = [
    agent.description,
    inFirstPerson(await instructionText(agent.instruction, agent)),
    isLlmAgent(root) ? inFirstPerson(await instructionText(root.globalInstruction, agent)) : '',
  ];
  const description = texts.filter((text) => text !== '').join(' ') || 'An LLM-based agent';
  const skills = [{ id: agent.name, name: 'model', description, tags: ['llm'] }];
  for (const each of agent.tools) {
    const tools = isBaseToolset(each) ? await each.getTools() : [each];
    for (const tool of tools) {
      if (!isBaseTool(tool)) continue;
      skills.push({
        id: `${agent.name}-${tool.name}`,
        name: tool.name,
        description: tool.description || `Tool: ${tool.name}`,
        tags: ['llm', 'tools'],
      });
    }
  }
  return skills;
}

/** Returns the text of an instruction. One that is a function is called without a session; one that needs it counts as empty. */
async function instructionText(instruction: LlmAgent['instruction'], agent: BaseAgent): Promise<string> {
  if (typeof instruction === 'string') return instruction;
  try {
    return await instruction(new ReadonlyContext({ agent } as InvocationContext));
  } catch (error) {
    getLogger().warn('getA2AAgentCard: an instruction of the agent needs a session, and is left out', error);
    return '';
  }
}

/** The words of an instruction, and those of the agent about itself. */
const PRONOUNS: readonly (readonly [RegExp, string])[] = [
  [/\byou were\b/gi, 'I was'],
  [/\byou are\b/gi, 'I am'],
  [/\byou're\b/gi, 'I am'],
  [/\byou've\b/gi, 'I have'],
  [/\byours\b/gi, 'mine'],
  [/\byour\b/gi, 'my'],
  [/\byou\b/gi, 'I'],
];

function inFirstPerson(instruction: string): string {
  return PRONOUNS.reduce((text, [pattern, word]) => text.replace(pattern, word), instruction);
}

function kindOf(agent: BaseAgent): { readonly tag: string; readonly summary: string } {
  if (isLoopAgent(agent)) return { tag: 'loop_workflow', summary: 'A loop workflow agent' };
  if (isSequentialAgent(agent)) return { tag: 'sequential_workflow', summary: 'A sequential workflow agent' };
  if (isParallelAgent(agent)) return { tag: 'parallel_workflow', summary: 'A parallel workflow agent' };
  return { tag: 'custom_agent', summary: 'A custom agent' };
}

/** Describes the work of the sub-agents of a sequence, a loop or a parallel agent. */
function stepsOf(agent: BaseAgent): string {
  const steps = agent.subAgents.map(({ name, description }) => description || `execute the ${name} agent`);
  const last = steps.length - 1;
  if (last < 0) return '';
  if (isSequentialAgent(agent)) {
    const begin = (index: number): string => (index === 0 ? 'First' : index === last ? 'Finally' : 'Then');
    return steps.map((step, index) => `${begin(index)}, this agent will ${step}.`).join(' ');
  }
  if (!isLoopAgent(agent) && !isParallelAgent(agent)) return '';
  const begin = (index: number): string => (index === 0 ? 'This agent will ' : index === last ? 'and ' : ', ');
  const text = steps.map((step, index) => `${begin(index)}${step}`).join(' ');
  if (isParallelAgent(agent)) return `${text} simultaneously.`;
  const { maxIterations } = agent;
  const times = maxIterations !== undefined && maxIterations < Number.MAX_SAFE_INTEGER ? maxIterations : 'unlimited';
  return `${text} in a loop (max ${times} iterations).`;
}
