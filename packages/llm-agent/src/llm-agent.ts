import {
  BaseAgent,
  type BaseCodeExecutor,
  type BaseLlm,
  type BasePlanner,
  BaseTool,
  BaseToolset,
  ConfigurationError,
  type Event,
  type InvocationContext,
  isFinalResponse,
  closeAll,
  createLlmRequest,
  type LlmRequest,
  nearestNames,
} from '@eventloom/core';
import type { TransferRules } from '@eventloom/core/internal';
import {
  checkModel,
  checkOptions,
  readOnlyError,
  wrongOption,
  checkStateKey,
  toCallbacks,
  toList,
  describeKind,
  isBaseCodeExecutor,
  isBasePlanner,
  isBaseTool,
  isBaseToolset,
  isBaseAgent,
} from '@eventloom/core/internal';
import { ValueSchema } from '@eventloom/tools';
import {
  type InstructionProvider,
  LLM_AGENT_HINTS,
  LLM_AGENT_OPTIONS,
  MODEL_EXAMPLE,
  type LlmAgentConfig,
  type SingleAfterModelCallback,
  type SingleAfterToolCallback,
  type SingleBeforeModelCallback,
  type SingleBeforeToolCallback,
  type SingleModelErrorCallback,
  type SingleToolErrorCallback,
  type ToolUnion,
} from './llm-agent-config.ts';
import { runSteps } from './loop.ts';

/**
 * An agent that a language model drives. The model gets the instruction, the conversation and the tools. It answers, or it calls
 * tools: then they run, their results go back to the model, and the model is called again, until it answers without a call. A
 * runner runs the agent.
 *
 * `Agent` is the same class under its short ADK name.
 *
 * @example
 * const getWeather = new FunctionTool({
 *   name: 'get_weather',
 *   description: 'Returns the weather of a city.',
 *   parameters: z.object({ city: z.string() }),
 *   execute: ({ city }) => ({ city, sky: 'sunny' }),
 * });
 * const agent = new LlmAgent({
 *   name: 'weather',
 *   model: 'gemini-flash-latest',
 *   instruction: 'Answer questions about the weather.',
 *   tools: [getWeather],
 * });
 */
export class LlmAgent extends BaseAgent {
  /** The model, or its name. Undefined if the agent uses the model of its nearest ancestor that has one. */
  readonly model: string | BaseLlm | undefined;
  /** See `LlmAgentConfig.instruction`. Empty if none was given. */
  readonly instruction: string | InstructionProvider;
  /** See `LlmAgentConfig.globalInstruction`. Empty if none was given. */
  readonly globalInstruction: string | InstructionProvider;
  /** See `LlmAgentConfig.staticInstruction`. Empty if none was given. */
  readonly staticInstruction: string;
  /** See `LlmAgentConfig.tools`. Empty if none was given. */
  readonly tools: readonly ToolUnion[];
  /** See `LlmAgentConfig.codeExecutor`. */
  readonly codeExecutor: BaseCodeExecutor | undefined;
  /** See `LlmAgentConfig.planner`. */
  readonly planner: BasePlanner | undefined;
  /** See `LlmAgentConfig.generateContentConfig`. */
  readonly generateContentConfig: LlmAgentConfig['generateContentConfig'];
  /** See `LlmAgentConfig.mode`; undefined for a conversation. */
  readonly mode: LlmAgentConfig['mode'];
  /** See `LlmAgentConfig.includeContents`. */
  readonly includeContents: 'default' | 'none';
  /** See `LlmAgentConfig.modelTimeoutMs`. */
  readonly modelTimeoutMs: number | undefined;
  /** See `LlmAgentConfig.outputSchema`. */
  readonly outputSchema: LlmAgentConfig['outputSchema'];
  /** See `LlmAgentConfig.outputKey`. */
  readonly outputKey: string | undefined;
  /** See `LlmAgentConfig.disallowTransferToParent`. */
  readonly disallowTransferToParent: boolean;
  /** See `LlmAgentConfig.disallowTransferToPeers`. */
  readonly disallowTransferToPeers: boolean;
  /** The callbacks of `LlmAgentConfig.beforeModelCallback`, as a list. */
  readonly beforeModelCallback: readonly SingleBeforeModelCallback[];
  /** The callbacks of `LlmAgentConfig.afterModelCallback`, as a list. */
  readonly afterModelCallback: readonly SingleAfterModelCallback[];
  /** The callbacks of `LlmAgentConfig.onModelErrorCallback`, as a list. */
  readonly onModelErrorCallback: readonly SingleModelErrorCallback[];
  /** The callbacks of `LlmAgentConfig.beforeToolCallback`, as a list. */
  readonly beforeToolCallback: readonly SingleBeforeToolCallback[];
  /** The callbacks of `LlmAgentConfig.afterToolCallback`, as a list. */
  readonly afterToolCallback: readonly SingleAfterToolCallback[];
  /** The callbacks of `LlmAgentConfig.onToolErrorCallback`, as a list. */
  readonly onToolErrorCallback: readonly SingleToolErrorCallback[];
  /** True if nothing follows the last reply: no callback, and no code of a subclass. @internal */
  readonly endsWithReply: boolean;
  /** A validator compiled from `outputSchema`; undefined without a schema. @internal */
  readonly outputValueSchema: ValueSchema | undefined;
  readonly #inputSchema: LlmAgentConfig['inputSchema'];

  /** @throws ConfigurationError for invalid or conflicting options, and for option names that this version does not know */
  constructor(config: LlmAgentConfig) {
    super(config);
    const owner = `agent "${config.name}"`;
    checkOptions(owner, LLM_AGENT_OPTIONS, config, LLM_AGENT_HINTS);
    if (typeof config.model === 'string' ? config.model === '' : config.model !== undefined)
      checkModel(owner, 'model', config.model, 'the name of a model or a model object', MODEL_EXAMPLE);
    checkGenerateContentConfig(owner, config.generateContentConfig);
    checkTools(owner, config.tools);
    if (config.codeExecutor !== undefined && !isBaseCodeExecutor(config.codeExecutor))
      throw wrongOption(owner, 'codeExecutor', 'a code executor', config.codeExecutor, 'new BuiltInCodeExecutor()');
    checkPlanner(owner, config);
    if (config.outputKey !== undefined) checkStateKey(config.outputKey);
    this.model = config.model;
    this.instruction = config.instruction ?? '';
    this.globalInstruction = config.globalInstruction ?? '';
    this.staticInstruction = config.staticInstruction ?? '';
    this.tools = toList(config.tools);
    this.codeExecutor = config.codeExecutor;
    this.planner = config.planner;
    this.generateContentConfig = config.generateContentConfig;
    this.mode = config.mode;
    this.modelTimeoutMs = config.modelTimeoutMs;
    this.includeContents = config.includeContents ?? (config.mode === 'single_turn' ? 'none' : 'default');
    this.#inputSchema = config.inputSchema;
    this.outputSchema = config.outputSchema;
    this.outputKey = config.outputKey;
    this.disallowTransferToParent = config.disallowTransferToParent ?? false;
    this.disallowTransferToPeers = config.disallowTransferToPeers ?? false;
    const { name } = config;
    const { beforeModelCallback, afterModelCallback, onModelErrorCallback } = config;
    const { beforeToolCallback, afterToolCallback, onToolErrorCallback } = config;
    const model = '{ context, request';
    const tool = '{ tool, args, context';
    this.beforeModelCallback = toCallbacks(name, 'beforeModelCallback', beforeModelCallback, `(${model} })`);
    this.afterModelCallback = toCallbacks(name, 'afterModelCallback', afterModelCallback, '({ context, response })');
    this.onModelErrorCallback = toCallbacks(name, 'onModelErrorCallback', onModelErrorCallback, `(${model}, error })`);
    this.beforeToolCallback = toCallbacks(name, 'beforeToolCallback', beforeToolCallback, `(${tool} })`);
    this.afterToolCallback = toCallbacks(name, 'afterToolCallback', afterToolCallback, `(${tool}, response })`);
    this.onToolErrorCallback = toCallbacks(name, 'onToolErrorCallback', onToolErrorCallback, `(${tool}, error })`);
    this.endsWithReply = this.afterAgentCallback.length === 0 && this.runAsyncImpl === LlmAgent.prototype.runAsyncImpl;
    this.outputValueSchema =
      config.outputSchema === undefined ? undefined : new ValueSchema(config.outputSchema, `${owner}: outputSchema`);
    this.outputValueSchema?.requireKnownTypes();
  }

  get '~eventloom.llm-agent'(): true {
    return true;
  }

  /** The transfers that the agent's model may make. @internal */
  override get transferRules(): TransferRules {
    return { toParent: !this.disallowTransferToParent, toPeers: !this.disallowTransferToPeers };
  }

  override get inputSchema(): LlmAgentConfig['inputSchema'] {
    return this.#inputSchema;
  }

  override set inputSchema(_schema: never) {
    throw readOnlyError(`agent "${this.name}"`, 'inputSchema', 'write new LlmAgent({ …, inputSchema })');
  }

  protected override get makesCompleteEvents(): boolean {
    return true;
  }

  protected override get storesProgress(): boolean {
    return true;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runSteps(this, context);
  }

  /** Creates the empty request of a step, before tools and the rest are added to it. @internal */
  createRequest(_context: InvocationContext): LlmRequest {
    return createLlmRequest();
  }

  /** @internal */
  override isDoneAfter(event: Event): boolean {
    if (this.afterAgentCallback.length > 0 || this.codeExecutor !== undefined) return false;
    // The agent transferred the conversation to a sub-agent, which wrote this event.
    if (event.author !== this.name) return true;
    const isError = event.errorCode !== undefined && event.errorCode !== event.finishReason;
    const isOfTools = event.content?.parts?.some((part) => part.functionCall ?? part.functionResponse) === true;
    // Replies in a live run have no finish reason: the conversation may continue after any of them.
    return event.finishReason !== undefined && isFinalResponse(event) && !isError && !isOfTools;
  }

  /** True: in a live run, the runner's live support talks to the agent's model. */
  override get canRunLive(): boolean {
    return true;
  }

  /** @internal */
  override get calledAgents(): readonly BaseAgent[] {
    return this.tools.flatMap((tool) => (isBaseTool(tool) ? (tool.calledAgent ?? []) : []));
  }

  /** Closes the agent's tools and toolsets, and its sub-agents. */
  override close(): Promise<void> {
    return closeAll([...this.tools, ...this.subAgents]);
  }
}

function checkPlanner(owner: string, { planner, generateContentConfig }: LlmAgentConfig): void {
  if (planner === undefined) return;
  if (!isBasePlanner(planner)) throw wrongOption(owner, 'planner', 'a planner', planner, 'new PlanReActPlanner()');
  if (planner.setsThinkingConfig && generateContentConfig?.thinkingConfig !== undefined)
    throw new ConfigurationError(`${owner}: generateContentConfig.thinkingConfig is set by the planner; remove it`);
}

/** Keys of `generateContentConfig` that the agent sets itself, and the agent's option to use instead. */
const OWNED = {
  tools: 'tools',
  systemInstruction: 'instruction',
  responseSchema: 'outputSchema',
  responseJsonSchema: 'outputSchema',
} as const;

/**
 * The usual options of a model. Other names are passed to it, because its service may know them, unless they are close
 * to one of these: that is a misspelling, which the service would ignore or refuse later.
 */
const GENERATION_OPTIONS = {
  temperature: { is: 'number', write: '0' },
  topP: { is: 'number', write: '0.9' },
  topK: 'number',
  maxOutputTokens: 'number',
  stopSequences: 'list',
  presencePenalty: 'number',
  frequencyPenalty: 'number',
  seed: 'number',
  responseMimeType: 'text',
  safetySettings: 'list',
  thinkingConfig: 'object',
};

/** Names that other SDKs have for these options. A model would ignore them. */
const OF_OTHER_SDKS: Readonly<Record<string, string>> = {
  maxTokens: 'maxOutputTokens',
  max_tokens: 'maxOutputTokens',
  maxCompletionTokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  toolChoice: 'toolConfig',
  tool_choice: 'toolConfig',
};

function checkGenerateContentConfig(owner: string, config: LlmAgentConfig['generateContentConfig']): void {
  for (const [option, instead] of Object.entries(OWNED)) {
    if (config?.[option] !== undefined)
      throw new ConfigurationError(`${owner}: generateContentConfig.${option} is set by the agent; use ${instead}`);
  }
  for (const option in config) {
    if (option in GENERATION_OPTIONS) {
      checkOptions(`${owner}: generateContentConfig`, GENERATION_OPTIONS, { [option]: config[option] });
      continue;
    }
    const [meant, ...others] = Object.hasOwn(OF_OTHER_SDKS, option)
      ? [OF_OTHER_SDKS[option]]
      : nearestNames(option, Object.keys(GENERATION_OPTIONS));
    if (meant !== undefined && others.length === 0)
      throw new ConfigurationError(
        `${owner}: generateContentConfig has no option "${option}"; did you mean "${meant}"?`,
      );
  }
}

function checkTools(owner: string, tools: readonly ToolUnion[] = []): void {
  if (!Array.isArray(tools))
    throw new ConfigurationError(
      `${owner}: tools: expected a list, got ${describeKind(tools)}; write tools: [getTime]`,
    );
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (isBaseToolset(tool)) continue;
    if (!isBaseTool(tool)) throw new ConfigurationError(`${owner}: tools[${index}]: ${notATool(tool)}`);
    if (names.has(tool.name))
      throw new ConfigurationError(
        `${owner}: two tools have the name "${tool.name}"; the model calls tools by name, so give one of them another`,
      );
    names.add(tool.name);
  }
}

function notATool(value: unknown): string {
  if (typeof value === 'function' && (value.prototype instanceof BaseTool || value.prototype instanceof BaseToolset))
    return `${value.name} is a class, not a tool; write new ${value.name}({ … })`;
  if (typeof value === 'function')
    return `a function is not a tool; write new FunctionTool({ name: ${JSON.stringify(value.name || 'get_weather')}, description, execute })`;
  if (isBaseAgent(value))
    return `agent "${value.name}" is not a tool; write new AgentTool({ agent }), or list the agent in subAgents`;
  // Two modules that import each other are the usual reason: the later one is not ready yet.
  if (value === undefined)
    return 'expected a tool or a toolset, got nothing; define the tool above the agent, in a module that does not import the agent';
  return `expected a tool or a toolset, got ${describeKind(value)}; write new FunctionTool({ name, description, execute })`;
}
