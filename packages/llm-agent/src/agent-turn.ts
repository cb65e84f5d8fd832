import {
  type BaseCodeExecutor,
  type BaseLlm,
  type BasePlanner,
  ConfigurationError,
  type InvocationContext,
  appendTools,
  type BaseAgent,
  BaseTool,
  type FunctionDeclaration,
  createLlmRequest,
} from '@eventloom/core';
import { checkLists, describeKind, isBaseLlm, isBaseTool, wrongOption } from '@eventloom/core/internal';
import type { LlmAgent } from './llm-agent.ts';
import { isLlmAgent, type InstructionProvider } from './llm-agent-config.ts';
import { transferInstruction, transferTargets, TransferToAgentTool } from '@eventloom/multi-agent';

/** An agent's turn: the agent, its model and its context, shared by all steps of the turn. A step is one model call with its tool calls. */
export interface AgentTurn {
  readonly agent: LlmAgent;
  readonly model: BaseLlm;
  readonly context: InvocationContext;
  /** The parts of the model request that are the same in every step. */
  readonly fixedParts: FixedParts;
  /**
   * The whole request without its contents: no request processor runs in this turn. Undefined if a tool, a plugin, an
   * instruction or an option may change more of the request from step to step.
   */
  readonly fixedRequest: FixedRequest | undefined;
}

/**
 * Creates a turn with the agent's own model, or that of its nearest ancestor that has one. The runner's `models` resolves a model name.
 * @throws ConfigurationError if no agent has a model, or `models` does not know the name
 */
export function createTurn(agent: LlmAgent, context: InvocationContext): AgentTurn {
  const { rootAgent, contextCacheConfig } = context.invocation;
  const named = agent.model ?? inheritedModel(agent);
  const model = typeof named === 'string' ? findModel(named, agent, context) : named;
  let fixedParts = FIXED_PARTS.get(agent);
  // Programs in JavaScript can assign options: lists are refused, and the others are used from the next turn on.
  checkLists(agent, LISTS);
  if (
    fixedParts?.rootAgent !== rootAgent ||
    fixedParts.model !== model ||
    fixedParts.ownInstruction !== agent.instruction ||
    fixedParts.staticInstruction !== agent.staticInstruction ||
    fixedParts.planner !== agent.planner ||
    fixedParts.codeExecutor !== agent.codeExecutor ||
    fixedParts.outputSchema !== agent.outputSchema ||
    ('globalInstruction' in rootAgent && fixedParts.globalInstruction !== rootAgent.globalInstruction)
  ) {
    fixedParts = createFixedParts(agent, rootAgent, model);
    FIXED_PARTS.set(agent, fixedParts);
  }
  const isUnchanged =
    context.extraTools.length === 0 &&
    context.extraInstructions.length === 0 &&
    context.runConfig.clientTools === undefined &&
    context.runConfig.pauseOnToolCalls !== true &&
    contextCacheConfig === undefined &&
    !context.plugins.has('beforeToolSelection');
  return { agent, model, context, fixedParts, fixedRequest: isUnchanged ? fixedParts.request : undefined };
}

function findModel(name: string, agent: LlmAgent, { invocation: { models } }: InvocationContext): BaseLlm {
  const model = models?.(name);
  if (model && !isBaseLlm(model))
    throw new ConfigurationError(
      `agent "${agent.name}": the runner's models returned ${describeKind(model)} for the model "${name}", not a model object; write models: (name) => new MyModel({ model: name }), with class MyModel extends BaseLlm`,
    );
  if (model) return model;
  throw new ConfigurationError(
    models
      ? `agent "${agent.name}": the runner's models do not resolve the model "${name}"; geminiModels resolves names that begin with gemini-, and aiSdkModels of @eventloom/ai-sdk names such as openai:gpt-5, whose beginning is one of its providers; write model: 'gemini-flash-latest', or models: aiSdkModels({ openai }) in the runner's options`
      : `agent "${agent.name}": the model "${name}" is a name, and the runner has no models to resolve it; write models: geminiModels({ apiKey }) in the runner's options, or model: new Gemini({ model: "${name}", apiKey }) in the agent's`,
  );
}

function inheritedModel(agent: LlmAgent): string | BaseLlm {
  for (let above = agent.parentAgent; above; above = above.parentAgent) {
    if (isLlmAgent(above) && above.model !== undefined) return above.model;
  }
  throw new ConfigurationError(
    `agent "${agent.name}": has no model, and no LLM agent above it has one; write model: 'gemini-flash-latest' in its options`,
  );
}

/** The parts of an agent's model request that are the same in every step. All requests share them: do not modify. */
interface FixedParts {
  /** The root of the agent tree in which the agent runs. */
  readonly rootAgent: BaseAgent;
  /** The model that gets the requests. */
  readonly model: BaseLlm;
  /** The agent's `instruction` that the request was made with. */
  readonly ownInstruction: string | InstructionProvider;
  /** The agent's `staticInstruction`, `planner`, `codeExecutor` and `outputSchema` that the request was made with. */
  readonly staticInstruction: string;
  readonly planner: BasePlanner | undefined;
  readonly codeExecutor: BaseCodeExecutor | undefined;
  readonly outputSchema: LlmAgent['outputSchema'];
  /** The root agent's `globalInstruction`; empty if the root is not an LLM agent. */
  readonly globalInstruction: string | InstructionProvider;
  /** The system instruction without the caller's instructions; undefined if a placeholder or a function makes it vary. */
  readonly instruction: string | undefined;
  /** The transfer tool and its instruction; undefined if the agent has no transfer targets. */
  readonly transfer: FixedTransfer | undefined;
  /** The agent's tools; undefined if there is a toolset, or a tool that changes more of a request than its tool list. */
  readonly tools: readonly BaseTool[] | undefined;
  /**
   * The whole request, if it has no other parts. Undefined if one, such as a declaration, may change from step to step,
   * or the model cannot call the tools.
   */
  readonly request: FixedRequest | undefined;
  /** True if an agent that this one calls as a tool passes its sources on. */
  readonly isGrounded: boolean;
}

/** The transfer tool and the instruction that names its targets. */
interface FixedTransfer {
  readonly tool: TransferToAgentTool;
  readonly instruction: string;
}

/** A model request without its contents. */
interface FixedRequest {
  readonly instruction: string;
  readonly toolsDict: Readonly<Record<string, BaseTool>>;
  readonly declarations: readonly FunctionDeclaration[];
}

/** The lists of an agent that its constructor made, which are frozen. */
const LISTS = [
  'tools',
  'beforeModelCallback',
  'afterModelCallback',
  'onModelErrorCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'onToolErrorCallback',
] as const;

/** The fixed parts of each agent, for the tree and the model with which it last ran. */
const FIXED_PARTS = new WeakMap<LlmAgent, FixedParts>();

function createFixedParts(agent: LlmAgent, rootAgent: BaseAgent, model: BaseLlm): FixedParts {
  const ownInstruction: unknown = agent.instruction;
  if (typeof ownInstruction !== 'string' && typeof ownInstruction !== 'function')
    throw wrongOption(
      `agent "${agent.name}"`,
      'instruction',
      'a string or a function',
      ownInstruction,
      "'Answer briefly.'",
    );
  if (agent.outputSchema !== undefined && agent.outputValueSchema === undefined)
    throw new ConfigurationError(
      `agent "${agent.name}": outputSchema was assigned; write it in the options, as in new LlmAgent({ …, outputSchema })`,
    );
  const globalInstruction = isLlmAgent(rootAgent) ? rootAgent.globalInstruction : '';
  const instruction = plainInstruction(agent, globalInstruction);
  const transfer = createTransfer(agent, rootAgent);
  const tools = plainTools(agent);
  const isPlainAgent = !agent.planner && !agent.codeExecutor && !agent.outputValueSchema && agent.mode !== 'task';
  const fixedTools = isPlainAgent && tools?.every(hasFixedDeclaration) ? tools : undefined;
  const request =
    fixedTools && instruction !== undefined ? createFixedRequest(instruction, transfer, fixedTools) : undefined;
  const isTaken = !request?.declarations.length || model.capabilities().tools;
  const isGrounded = agent.tools.some((tool) => isBaseTool(tool) && tool.propagateGroundingMetadata);
  return {
    rootAgent,
    model,
    ownInstruction: agent.instruction,
    staticInstruction: agent.staticInstruction,
    planner: agent.planner,
    codeExecutor: agent.codeExecutor,
    outputSchema: agent.outputSchema,
    globalInstruction,
    instruction,
    transfer,
    tools,
    request: isTaken ? request : undefined,
    isGrounded,
  };
}

/** Returns the joined instruction texts; undefined if one of them is a function or has a placeholder. */
function plainInstruction(agent: LlmAgent, globalInstruction: string | InstructionProvider): string | undefined {
  const { instruction, staticInstruction } = agent;
  if (!isPlain(globalInstruction) || !isPlain(instruction)) return undefined;
  const texts = [globalInstruction, staticInstruction, instruction, identityInstruction(agent)];
  return texts.filter((text) => text !== '').join('\n\n');
}

function isPlain(instruction: string | InstructionProvider): instruction is string {
  return typeof instruction === 'string' && !instruction.includes('{');
}

/** Returns the sentences that tell the model the agent's name and description. */
export function identityInstruction({ name, description }: LlmAgent): string {
  const about = description === '' ? '' : ` The description about you is "${description}".`;
  return `You are an agent. Your internal name is "${name}".${about}`;
}

function createTransfer(agent: LlmAgent, rootAgent: BaseAgent): FixedTransfer | undefined {
  // The root of a run may have a parent that does not take part in the run, for example if the agent is called as a tool.
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

/** Returns true for a tool that only adds itself to a request. */
export function isPlainTool(tool: BaseTool): boolean {
  return tool.processLlmRequest === BaseTool.prototype.processLlmRequest;
}

/**
 * Returns false for a tool that creates its declaration each time it is asked, because the declaration may change from
 * request to request.
 */
function hasFixedDeclaration(tool: BaseTool): boolean {
  return tool._getDeclaration() === tool._getDeclaration();
}

/** @throws ConfigurationError if two tools have the same name */
function createFixedRequest(
  ownInstruction: string,
  transfer: FixedTransfer | undefined,
  ownTools: readonly BaseTool[],
): FixedRequest {
  const instruction = transfer ? `${ownInstruction}\n\n${transfer.instruction}` : ownInstruction;
  const tools = transfer ? [transfer.tool, ...ownTools] : ownTools;
  const request = createLlmRequest();
  appendTools(request, tools);
  const declarations = tools.flatMap((tool) => tool._getDeclaration() ?? []);
  return { instruction, toolsDict: Object.freeze(request.toolsDict), declarations };
}
