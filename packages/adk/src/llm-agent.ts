import {
  type BaseLlm,
  type BaseTool,
  ConfigurationError,
  type Event,
  type GenerateContentConfig,
  type InvocationContext,
  type LlmRequest,
  ModelError,
  type ReadonlyContext,
} from '@eventloom/core';
import {
  isBaseTool,
  isBaseToolset,
  isRecord,
  type OptionRules,
  readOnlyError,
  runAfterCallbacks,
  toList,
} from '@eventloom/core/internal';
import {
  type InstructionProvider,
  isLlmAgent,
  LlmAgent,
  type LlmAgentConfig,
  type SingleAfterModelCallback,
  type SingleAfterToolCallback,
  type SingleBeforeToolCallback,
  type ToolUnion,
} from '@eventloom/llm-agent';
import { LLM_AGENT_OPTIONS, turnToolsets } from '@eventloom/llm-agent/internal';
import type { AdkBeforeModelCallback, AdkSingleBeforeModelCallback, Assignable, KnownOptions } from './adk-types.ts';
import { type AgentNodeOptions, copyAgent, keepConfig, withoutNodeOptions } from './agent-options.ts';
import { refuseOverridden, refuseUncalled } from './class-checks.ts';
import { runFromProgram, runOverridden } from './overridden-runs.ts';
import { type BaseContextCompactor, shorteningCallbacks } from './context-compactors.ts';
import { NodeSchemaValidationError } from './errors.ts';
import { FinishTaskTool } from './finish-task.ts';
import { liveOptionsOf } from './gemini-schema.ts';
import { LLMRegistry } from './llm-registry.ts';
import { getLogger } from './logger.ts';
import { type AdkPackageTool, type AdkPackageToolset, adoptTool } from './package-tools.ts';
import {
  type BaseLlmRequestProcessor,
  type BaseLlmResponseProcessor,
  requestCallbacks,
  responseCallbacks,
} from './processors.ts';
import { isServiceError } from './service-errors.ts';
import { runTasks, type TaskAgentTool, taskAgentTools } from './task-agents.ts';
import { type BaseNode, isBaseNode } from './workflow/base-node.ts';
import { scopedInstruction } from './workflow/instruction-scope.ts';
import { NodeTool } from './workflow/node-tool.ts';

/**
 * A tool of an agent of programs that were written for `@google/adk`: a tool, a toolset, or a node of a workflow with
 * an `inputSchema`. Tools and toolsets may come from packages that import `@google/adk` themselves.
 */
export type AdkToolUnion = ToolUnion | BaseNode | AdkPackageTool | AdkPackageToolset;

/**
 * Options of an `LlmAgent` of programs that were written for `@google/adk`: those of `@eventloom/llm-agent`, nodes as
 * tools, and the options of its node in a workflow.
 */
export interface AdkLlmAgentConfig
  extends
    Assignable<Omit<LlmAgentConfig, 'tools' | 'generateContentConfig' | 'beforeModelCallback'>>,
    Assignable<AgentNodeOptions> {
  tools?: readonly AdkToolUnion[];
  /** Called before each model call. May change the request, or return a response in place of the model's. Default: none. */
  beforeModelCallback?: AdkBeforeModelCallback;
  /** Options of the model's service, such as `temperature`: an object, or a `GenerateContentConfig` of `@google/genai`. */
  generateContentConfig?: GenerateContentConfig | KnownOptions<GenerateContentConfig>;
  /** Shorten the conversation that the model reads. Default: none. */
  contextCompactors?: readonly BaseContextCompactor[] | undefined;
  /** Change requests to the model in place, before `beforeModelCallback`. They are added to what the runtime does. Default: none. */
  requestProcessors?: readonly BaseLlmRequestProcessor[] | undefined;
  /** Change responses of the model in place, before `afterModelCallback`. Default: none. */
  responseProcessors?: readonly BaseLlmResponseProcessor[] | undefined;
}

const OPTIONS: OptionRules<Omit<AdkLlmAgentConfig, keyof AgentNodeOptions>> = {
  ...LLM_AGENT_OPTIONS,
  contextCompactors: 'any',
  requestProcessors: 'any',
  responseProcessors: 'any',
};

/** Options that a program may assign after the construction. */
const ASSIGNABLE = [
  'model',
  'instruction',
  'globalInstruction',
  'tools',
  'codeExecutor',
  'generateContentConfig',
  'includeContents',
  'outputSchema',
  'outputKey',
  'disallowTransferToParent',
  'disallowTransferToPeers',
  'beforeModelCallback',
  'afterModelCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'contextCompactors',
  'requestProcessors',
  'responseProcessors',
] as const satisfies readonly (keyof AdkLlmAgentConfig)[];

/** Fields that only the constructor sets, or that follow from options. */
const FIXED = ['mode', 'outputValueSchema'] as const satisfies readonly (keyof LlmAgent)[];

/** Members that the ADK calls in each run, and what a class of the program writes in place of each. */
const UNCALLED_OVERRIDES = {
  canonicalModel: 'model: new RoutedLlm({ models, router }) in the options of the agent',
  canonicalTools: 'a toolset in tools, whose getTools gets the context',
  canonicalInstruction: 'instruction: (context) => … in the options of the agent',
  canonicalGlobalInstruction: 'globalInstruction: (context) => … in the options of the agent',
  canonicalBeforeModelCallbacks: 'beforeModelCallback: [ … ] in the options of the agent',
  canonicalAfterModelCallbacks: 'afterModelCallback: [ … ] in the options of the agent',
  canonicalBeforeToolCallbacks: 'beforeToolCallback: [ … ] in the options of the agent',
  canonicalAfterToolCallbacks: 'afterToolCallback: [ … ] in the options of the agent',
};

/** The name of the method that Node's `console.log` calls; other runtimes ignore it. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

function valuesOf(agent: AdkLlmAgent): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...ASSIGNABLE, ...FIXED].map((option) => [option, agent[option]]));
}

/**
 * The `LlmAgent` of programs that were written for `@google/adk`: that of `@eventloom/llm-agent`, with the behavior of
 * the ADK. Nodes may be tools, sub-agents with a `mode` are tools too, and in a workflow the instruction can name the
 * input of its node, `{Name.field}`, and the outputs of other nodes, `<Name.field from node>`.
 *
 * @example
 * const agent = new LlmAgent({ name: 'weather', model: 'gemini-flash-latest', instruction: 'Answer questions about the weather.' });
 */
export class AdkLlmAgent extends LlmAgent {
  static override readonly name: string = 'LlmAgent';
  declare model: string | BaseLlm | undefined;
  declare instruction: string | InstructionProvider;
  declare globalInstruction: string | InstructionProvider;
  declare tools: readonly ToolUnion[];
  declare codeExecutor: LlmAgent['codeExecutor'];
  declare generateContentConfig: LlmAgent['generateContentConfig'];
  declare includeContents: 'default' | 'none';
  declare outputSchema: LlmAgent['outputSchema'];
  declare outputKey: string | undefined;
  declare disallowTransferToParent: boolean;
  declare disallowTransferToPeers: boolean;
  declare beforeModelCallback: LlmAgent['beforeModelCallback'];
  declare afterModelCallback: LlmAgent['afterModelCallback'];
  declare beforeToolCallback: LlmAgent['beforeToolCallback'];
  declare afterToolCallback: LlmAgent['afterToolCallback'];
  /** True if the options say that the agent sees the whole conversation. As the node of a workflow it otherwise sees only its input. */
  readonly seesConversation: boolean;
  contextCompactors: readonly BaseContextCompactor[];
  requestProcessors: readonly BaseLlmRequestProcessor[];
  responseProcessors: readonly BaseLlmResponseProcessor[];
  /** True if nothing follows the last reply: no callback, and no code of a subclass. @internal */
  override endsWithReply: boolean;
  readonly #tasks: readonly TaskAgentTool[];

  /** @throws ConfigurationError for invalid or conflicting options, and for option names that this version does not know */
  constructor(config: AdkLlmAgentConfig) {
    const {
      tools,
      instruction,
      generateContentConfig,
      contextCompactors = [],
      requestProcessors = [],
      responseProcessors = [],
      ...options
    } = withoutNodeOptions(config ?? {}, new.target === AdkLlmAgent ? undefined : OPTIONS);
    const owner = `agent "${config?.name}"`;
    const before = [...shorteningCallbacks(owner, contextCompactors), ...requestCallbacks(owner, requestProcessors)];
    const after = responseCallbacks(owner, responseProcessors);
    checkModel(owner, options.model);
    // The agent refuses values that are not lists.
    const own = Array.isArray(tools) ? tools.map(toTool) : (tools as [] | undefined);
    const tasks = Array.isArray(options.subAgents) ? taskAgentTools(options.subAgents, own) : [];
    super({
      ...options,
      ...(options.outputSchema === undefined ? {} : withoutTransfers(owner, options)),
      // The agent refuses a value that is not an object.
      ...(generateContentConfig === undefined
        ? {}
        : { generateContentConfig: generateContentConfig as GenerateContentConfig }),
      ...(before.length > 0 ? { beforeModelCallback: [...before, ...toList(options.beforeModelCallback)] } : {}),
      ...(after.length > 0 ? { afterModelCallback: [...after, ...toList(options.afterModelCallback)] } : {}),
      ...(tasks.length > 0 ? { tools: [...(own ?? []), ...tasks] } : own === undefined ? {} : { tools: own }),
      ...(instruction === undefined
        ? {}
        : { instruction: typeof instruction === 'string' ? scopedInstruction(instruction) : instruction }),
    });
    this.contextCompactors = toList(contextCompactors);
    this.requestProcessors = toList(requestProcessors);
    this.responseProcessors = toList(responseProcessors);
    this.#tasks = tasks;
    // Tasks come before the agent's own turn, and never after its last reply.
    this.endsWithReply =
      this.afterAgentCallback.length === 0 && this.runAsyncImpl === AdkLlmAgent.prototype.runAsyncImpl;
    this.seesConversation = config.includeContents === 'default';
    keepConfig(this, config);
    refuseOverridden(owner, this, AdkLlmAgent, UNCALLED_OVERRIDES);
    this.#acceptOptions(config);
  }

  /** Lets the program assign options, which are checked as those of the constructor and used from the agent's next turn on. */
  #acceptOptions(config: AdkLlmAgentConfig): void {
    const { subAgents: _, ...given } = config;
    const entries = Object.entries(given).filter(([option]) => Object.hasOwn(OPTIONS, option));
    let options = { name: this.name, ...Object.fromEntries(entries) };
    let current = valuesOf(this);
    const assign = (option: string, value: unknown): void => {
      const changed = { ...options, [option]: value };
      const made = new AdkLlmAgent(changed);
      current = { ...valuesOf(made), tools: toList([...made.tools, ...this.#tasks]) };
      options = changed;
      keepConfig(this, { ...config, ...changed });
    };
    const refuse = (option: string): never => {
      throw readOnlyError(`agent "${this.name}"`, option, `write new LlmAgent({ …, ${option} })`);
    };
    for (const option of [...ASSIGNABLE, ...FIXED])
      Object.defineProperty(this, option, {
        get: () => current[option],
        set(value: unknown) {
          if (FIXED.some((fixed) => fixed === option)) refuse(option);
          assign(option, value);
        },
        enumerable: true,
        // A field that a class of the program declares replaces it.
        configurable: true,
      });
  }

  /** Returns the fields, so that `console.log` shows them on Node. @internal */
  [INSPECT](): object {
    const { name, description, subAgents } = this;
    return { name, description, subAgents, ...valuesOf(this) };
  }

  /**
   * Creates an agent of the same class with some options changed, and without a parent. Its sub-agents are copied too,
   * unless `changes` has `subAgents`.
   * @throws ConfigurationError for `parentAgent`, and for a sub-agent that cannot be copied
   */
  clone(changes: Partial<AdkLlmAgentConfig> = {}): this {
    return copyAgent(this, changes);
  }

  /**
   * The agent's model, or that of its nearest ancestor with one. `LLMRegistry` creates the model of a name.
   * @throws ConfigurationError if there is none
   */
  get canonicalModel(): BaseLlm {
    for (let agent = this.parentAgent, model = this.model; ; agent = agent.parentAgent) {
      if (model !== undefined) return typeof model === 'string' ? LLMRegistry.newLlm(model) : model;
      if (!agent)
        throw new ConfigurationError(
          `agent "${this.name}": canonicalModel: neither it nor an LLM agent above it has a model; write model: 'gemini-flash-latest' in its options`,
        );
      model = isLlmAgent(agent) ? agent.model : undefined;
    }
  }

  /** Returns the agent's tools, with each toolset replaced by the tools that it has for the context. */
  async canonicalTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const lists = this.tools.map(async (tool) => (isBaseTool(tool) ? [tool] : tool.getTools(context)));
    return (await Promise.all(lists)).flat();
  }

  /** Returns the instruction, and whether keys in braces are still to be replaced by state: not in the result of a function. */
  canonicalInstruction(context: ReadonlyContext): Promise<CanonicalInstruction> {
    return toCanonical(this.instruction, context);
  }

  /** Returns the global instruction as `canonicalInstruction` does. */
  canonicalGlobalInstruction(context: ReadonlyContext): Promise<CanonicalInstruction> {
    return toCanonical(this.globalInstruction, context);
  }

  /** The callbacks before the model as a list. */
  get canonicalBeforeModelCallbacks(): readonly AdkSingleBeforeModelCallback[] {
    return this.beforeModelCallback;
  }

  /** The callbacks after the model as a list. */
  get canonicalAfterModelCallbacks(): readonly SingleAfterModelCallback[] {
    return this.afterModelCallback;
  }

  /** The callbacks before a tool as a list. */
  get canonicalBeforeToolCallbacks(): readonly SingleBeforeToolCallback[] {
    return this.beforeToolCallback;
  }

  /** The callbacks after a tool as a list. */
  get canonicalAfterToolCallbacks(): readonly SingleAfterToolCallback[] {
    return this.afterToolCallback;
  }

  /** The tool with which the model of an agent with `mode: 'task'` hands in its result. */
  get finishTaskTool(): FinishTaskTool {
    return new FinishTaskTool(this.outputSchema);
  }

  /**
   * Returns a value as the `outputSchema` parses it; any value without one.
   * @throws NodeSchemaValidationError for a value that does not match
   * @throws ConfigurationError for a schema that checks asynchronously
   */
  validateOutput(value: unknown): unknown {
    const checked = this.outputValueSchema?.check(value) ?? { value };
    if (checked instanceof Promise)
      throw new ConfigurationError(
        `agent "${this.name}": validateOutput: its outputSchema checks asynchronously; write await outputSchema.parseAsync(value)`,
      );
    if ('value' in checked) return checked.value;
    const cause = new Error(checked.issues.join('; '));
    throw new NodeSchemaValidationError({ nodeName: this.name, direction: 'output', cause });
  }

  /**
   * Creates the request of a step. Lets toolsets list their tools again, as the ADK does in each step, because they may
   * depend on the state. @internal
   */
  override createRequest(context: InvocationContext): LlmRequest {
    turnToolsets(context).listAgain();
    return Object.assign(super.createRequest(context), { liveConnectConfig: liveOptionsOf(context.runConfig) });
  }

  /**
   * Runs the agent as part of another agent's work, as in `@eventloom/core`. As in the ADK, an error of a model's
   * service is only an event, after which the caller may run another agent.
   */
  override async *runAsync(
    parentContext: InvocationContext,
    place?: Parameters<LlmAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    try {
      yield* runFromProgram(this, parentContext, place);
    } catch (error) {
      if (!isServiceError(error) || parentContext.abortSignal.aborted) throw error;
    }
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    this.endsWithReply &&= this.runAsync === AdkLlmAgent.prototype.runAsync;
    return runOverridden(this, AdkLlmAgent.prototype, context, () => super.runIn(context));
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const hasAfter = this.afterAgentCallback.length > 0;
    const runTurn = (): AsyncGenerator<Event, void, void> =>
      hasAfter ? this.#runTurn(context, super.runAsyncImpl(context)) : super.runAsyncImpl(context);
    return this.#tasks.length === 0 ? runTurn() : runTasks(context, this.#tasks, runTurn);
  }

  /** Calls `afterAgentCallback` of the agent also after a failed call of a model, as the ADK does. */
  async *#runTurn(
    context: InvocationContext,
    events: AsyncGenerator<Event, void, void>,
  ): AsyncGenerator<Event, void, void> {
    try {
      yield* events;
    } catch (error) {
      if (ModelError.isInstance(error) && !context.abortSignal.aborted) yield* runAfterCallbacks(this, context, false);
      throw error;
    }
  }
}

/** An instruction, and whether keys in braces are still to be replaced by state. */
export interface CanonicalInstruction {
  readonly instruction: string;
  readonly requireStateInjection: boolean;
}

async function toCanonical(
  instruction: string | InstructionProvider,
  context: ReadonlyContext,
): Promise<CanonicalInstruction> {
  return typeof instruction === 'string'
    ? { instruction, requireStateInjection: true }
    : { instruction: await instruction(context), requireStateInjection: false };
}

/** The transfers of an agent with an `outputSchema`, as in the ADK: none but those to its sub-agents. */
function withoutTransfers(
  owner: string,
  { disallowTransferToParent, disallowTransferToPeers }: LlmAgentConfig,
): Pick<LlmAgentConfig, 'disallowTransferToParent' | 'disallowTransferToPeers'> {
  if (disallowTransferToParent === false || disallowTransferToPeers === false)
    getLogger().warn(
      `${owner}: disallowTransferToParent and disallowTransferToPeers are true, because the agent has an outputSchema; remove the false`,
    );
  return { disallowTransferToParent: true, disallowTransferToPeers: true };
}

/** Methods that the ADK calls, and what a class of the program writes in place of each. */
const UNCALLED_OF_TOOL = { checkRequireConfirmation: 'requireConfirmation in the options of the tool' };
const UNCALLED_OF_TOOLSET = { processLlmRequest: 'processLlmRequest in a tool of the toolset' };

/**
 * Checks the model of an agent.
 * @throws ConfigurationError for a model of a package that imports `@google/adk` itself. The agent refuses other values
 * that are not models
 */
function checkModel(owner: string, model: unknown): void {
  if (!isRecord(model) || !('generateContentAsync' in model) || typeof model['capabilities'] === 'function') return;
  throw new ConfigurationError(
    `${owner}: model: is a model of another library, as of @google/adk; write a class that extends BaseLlm of eventloom/adk, or new AiSdkLlm(model) of @eventloom/ai-sdk`,
  );
}

function toTool(tool: AdkToolUnion): ToolUnion {
  if (isBaseNode(tool)) return new NodeTool(tool);
  const adopted = adoptTool(tool);
  // Other values are refused by the agent.
  if (isBaseTool(adopted)) refuseUncalled(`tool "${adopted.name}"`, adopted, UNCALLED_OF_TOOL);
  else if (isBaseToolset(adopted)) refuseUncalled(`toolset ${adopted.constructor.name}`, adopted, UNCALLED_OF_TOOLSET);
  return adopted;
}
