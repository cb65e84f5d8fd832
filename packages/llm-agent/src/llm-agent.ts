import {
  BaseAgent,
  type BaseLlm,
  checkStateKey,
  ConfigurationError,
  type Event,
  type InvocationContext,
  isBaseTool,
  isBaseToolset,
  toList,
} from '@eventloom/core';
import { ValueSchema } from '@eventloom/tools';
import {
  type InstructionProvider,
  LLM_AGENT_OPTIONS,
  type LlmAgentConfig,
  type SingleAfterModelCallback,
  type SingleAfterToolCallback,
  type SingleBeforeModelCallback,
  type SingleBeforeToolCallback,
  type SingleModelErrorCallback,
  type SingleToolErrorCallback,
  type ToolUnion,
} from './llm-agent-config.ts';
import { StaticRequest } from './static-request.ts';
import { runSteps } from './step/run-steps.ts';

const BRAND = Symbol.for('eventloom.llm-agent');

/** An agent whose work is done by a language model: it thinks, calls tools, reads what they answered, and thinks again. */
export class LlmAgent extends BaseAgent {
  readonly model: string | BaseLlm;
  readonly instruction: string | InstructionProvider;
  readonly globalInstruction: string | InstructionProvider;
  readonly staticInstruction: string;
  readonly tools: readonly ToolUnion[];
  readonly generateContentConfig: LlmAgentConfig['generateContentConfig'];
  readonly includeContents: 'default' | 'none';
  readonly inputSchema: LlmAgentConfig['inputSchema'];
  readonly outputSchema: LlmAgentConfig['outputSchema'];
  readonly outputKey: string | undefined;
  readonly disallowTransferToParent: boolean;
  readonly disallowTransferToPeers: boolean;
  readonly beforeModelCallback: readonly SingleBeforeModelCallback[];
  readonly afterModelCallback: readonly SingleAfterModelCallback[];
  readonly onModelErrorCallback: readonly SingleModelErrorCallback[];
  readonly beforeToolCallback: readonly SingleBeforeToolCallback[];
  readonly afterToolCallback: readonly SingleAfterToolCallback[];
  readonly onToolErrorCallback: readonly SingleToolErrorCallback[];
  /** What every model request of the agent has in common. */
  readonly staticRequest: StaticRequest = new StaticRequest(this);
  /** The output schema, ready to check with. */
  readonly outputValueSchema: ValueSchema | undefined;

  /** @throws ConfigurationError for what cannot work, named by the agent, and for an option this version does not have */
  constructor(config: LlmAgentConfig) {
    super(config);
    const owner = `agent "${config.name}"`;
    for (const option in config) {
      if (!LLM_AGENT_OPTIONS.has(option))
        throw new ConfigurationError(`${owner}: ${option} is not supported by this version`);
    }
    checkModel(owner, config.model);
    checkGenerateContentConfig(owner, config.generateContentConfig);
    checkTools(owner, config.tools);
    if (config.outputKey !== undefined) checkStateKey(config.outputKey);
    this.model = config.model;
    this.instruction = config.instruction ?? '';
    this.globalInstruction = config.globalInstruction ?? '';
    this.staticInstruction = config.staticInstruction ?? '';
    this.tools = toList(config.tools);
    this.generateContentConfig = config.generateContentConfig;
    this.includeContents = config.includeContents ?? 'default';
    this.inputSchema = config.inputSchema;
    this.outputSchema = config.outputSchema;
    this.outputKey = config.outputKey;
    this.disallowTransferToParent = config.disallowTransferToParent ?? false;
    this.disallowTransferToPeers = config.disallowTransferToPeers ?? false;
    this.beforeModelCallback = toList(config.beforeModelCallback);
    this.afterModelCallback = toList(config.afterModelCallback);
    this.onModelErrorCallback = toList(config.onModelErrorCallback);
    this.beforeToolCallback = toList(config.beforeToolCallback);
    this.afterToolCallback = toList(config.afterToolCallback);
    this.onToolErrorCallback = toList(config.onToolErrorCallback);
    this.outputValueSchema =
      config.outputSchema === undefined ? undefined : new ValueSchema(config.outputSchema, `${owner}: outputSchema`);
  }

  get [BRAND](): true {
    return true;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runSteps(this, context);
  }

  /** Closes the agent's toolsets. */
  override async close(): Promise<void> {
    for (const tool of this.tools) if (isBaseToolset(tool)) await tool.close();
  }
}

/** True for LLM agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && BRAND in value;
}

function checkModel(owner: string, model: unknown): void {
  if (
    typeof model === 'string'
      ? model !== ''
      : typeof model === 'object' && model !== null && 'generateContentAsync' in model
  )
    return;
  throw new ConfigurationError(`${owner}: model must be the name of a model or a model object`);
}

/** Options that the agent sets itself. */
const OWNED = {
  tools: 'tools',
  systemInstruction: 'instruction',
  responseSchema: 'outputSchema',
  responseJsonSchema: 'outputSchema',
} as const;

function checkGenerateContentConfig(owner: string, config: LlmAgentConfig['generateContentConfig']): void {
  for (const [option, instead] of Object.entries(OWNED)) {
    if (config?.[option] !== undefined)
      throw new ConfigurationError(`${owner}: generateContentConfig.${option} is set by the agent; use ${instead}`);
  }
}

function checkTools(owner: string, tools: readonly ToolUnion[] = []): void {
  const names = new Set<string>();
  for (const tool of tools) {
    if (isBaseToolset(tool)) continue;
    if (!isBaseTool(tool))
      throw new ConfigurationError(`${owner}: tools must be tools or toolsets; wrap a function in FunctionTool`);
    if (names.has(tool.name)) throw new ConfigurationError(`${owner}: two tools have the name "${tool.name}"`);
    names.add(tool.name);
  }
}
