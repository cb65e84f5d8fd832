import {
  appendTools,
  type BaseAgent,
  BaseTool,
  createLlmRequest,
  type FunctionDeclaration,
  isBaseTool,
} from '@eventloom/core';
import { transferInstruction, transferTargets, TransferToAgentTool } from '@eventloom/multi-agent';
import type { LlmAgent } from './llm-agent.ts';
import { type InstructionProvider, isLlmAgent } from './llm-agent-config.ts';

/** The parts of an agent's model requests that are the same in every step. Shared by all requests: not to be modified. */
export interface StaticRequest {
  /** The top of the tree in which the agent runs. */
  readonly rootAgent: BaseAgent;
  /** The instruction of the root for every agent of the tree. */
  readonly globalInstruction: string | InstructionProvider;
  /** The system instruction without what a caller of the agent adds; undefined if state or a function makes one of its texts. */
  readonly instruction: string | undefined;
  /** The tool with which the model transfers the conversation; undefined if it has no transfer targets. */
  readonly transfer: StaticTransfer | undefined;
  /** The agent's tools; undefined if there is a toolset, or a tool that does more to a request than add itself. */
  readonly tools: readonly BaseTool[] | undefined;
  /** Instruction and tools together; undefined if any part of the request changes from step to step. */
  readonly whole: WholeRequest | undefined;
}

export interface StaticTransfer {
  readonly tool: TransferToAgentTool;
  readonly instruction: string;
}

export interface WholeRequest {
  readonly instruction: string;
  readonly toolsDict: Readonly<Record<string, BaseTool>>;
  readonly declarations: readonly FunctionDeclaration[];
}

/** By agent, for the tree in which it ran last. */
const KNOWN = new WeakMap<LlmAgent, StaticRequest>();

/** Returns the static parts of the agent's requests. They are put together at the agent's first turn. */
export function staticRequestOf(agent: LlmAgent, rootAgent: BaseAgent): StaticRequest {
  const known = KNOWN.get(agent);
  if (known?.rootAgent === rootAgent) return known;
  const created = createStaticRequest(agent, rootAgent);
  KNOWN.set(agent, created);
  return created;
}

function createStaticRequest(agent: LlmAgent, rootAgent: BaseAgent): StaticRequest {
  const globalInstruction = isLlmAgent(rootAgent) ? rootAgent.globalInstruction : '';
  const instruction = plainInstruction(agent, globalInstruction);
  const transfer = createTransfer(agent, rootAgent);
  const tools = plainTools(agent);
  const isWhole = !agent.planner && !agent.codeExecutor && !agent.outputValueSchema;
  const whole = isWhole && instruction !== undefined && tools ? createWhole(instruction, transfer, tools) : undefined;
  return { rootAgent, globalInstruction, instruction, transfer, tools, whole };
}

/** Undefined if one of the texts has something to fill in. */
function plainInstruction(agent: LlmAgent, globalInstruction: string | InstructionProvider): string | undefined {
  const { instruction, staticInstruction } = agent;
  if (!isPlain(globalInstruction) || !isPlain(instruction)) return undefined;
  const texts = [globalInstruction, staticInstruction, instruction, identityInstruction(agent)];
  return texts.filter((text) => text !== '').join('\n\n');
}

function isPlain(instruction: string | InstructionProvider): instruction is string {
  return typeof instruction === 'string' && !instruction.includes('{');
}

/** The sentence that tells the model which agent it is. */
export function identityInstruction({ name, description }: LlmAgent): string {
  const about = description === '' ? '' : ` The description about you is "${description}".`;
  return `You are an agent. Your internal name is "${name}".${about}`;
}

function createTransfer(agent: LlmAgent, rootAgent: BaseAgent): StaticTransfer | undefined {
  // The root of a run may have a parent that the run knows nothing of: an agent called as a tool.
  const targets = transferTargets(agent, rootAgent === agent ? agent : agent.rootAgent);
  if (targets.length === 0) return undefined;
  return { tool: new TransferToAgentTool(targets), instruction: transferInstruction(agent, targets) };
}

function plainTools({ tools }: LlmAgent): readonly BaseTool[] | undefined {
  const plain: BaseTool[] = [];
  for (const tool of tools) {
    if (!isBaseTool(tool) || !isPlainTool(tool)) return undefined;
    plain.push(tool);
  }
  return plain;
}

/** True for a tool that does nothing to a request but add itself. */
export function isPlainTool(tool: BaseTool): boolean {
  return tool.processLlmRequest === BaseTool.prototype.processLlmRequest;
}

/** @throws ConfigurationError when two tools have one name */
function createWhole(
  ownInstruction: string,
  transfer: StaticTransfer | undefined,
  ownTools: readonly BaseTool[],
): WholeRequest {
  const instruction = transfer ? `${ownInstruction}\n\n${transfer.instruction}` : ownInstruction;
  const tools = transfer ? [transfer.tool, ...ownTools] : ownTools;
  const request = createLlmRequest();
  appendTools(request, tools);
  const declarations = tools.flatMap((tool) => tool._getDeclaration() ?? []);
  return { instruction, toolsDict: Object.freeze(request.toolsDict), declarations };
}
