import type { Event, GenerateContentConfig, InvocationContext } from '@eventloom/core';
import { toList } from '@eventloom/core/internal';
import { LlmAgent, type LlmAgentConfig, type ToolUnion } from '@eventloom/llm-agent';
import type { KnownOptions } from './adk-types.ts';
import { type BaseContextCompactor, shorteningCallbacks } from './context-compactors.ts';
import { type AdkPackageTool, type AdkPackageToolset, adoptTool } from './package-tools.ts';
import {
  type BaseLlmRequestProcessor,
  type BaseLlmResponseProcessor,
  requestCallbacks,
  responseCallbacks,
} from './processors.ts';
import { runTasks, type TaskAgentTool, taskAgentTools } from './task-agents.ts';
import { type BaseNode, isBaseNode } from './workflow/base-node.ts';
import { scopedInstruction } from './workflow/instruction-scope.ts';
import { NodeTool } from './workflow/node-tool.ts';

/**
 * A tool of an agent of programs that were written for `@google/adk`: a tool, a toolset, or a node of a workflow with an `inputSchema`. Tools and
 * toolsets may come from packages that import `@google/adk` themselves.
 */
export type AdkToolUnion = ToolUnion | BaseNode | AdkPackageTool | AdkPackageToolset;

/** Options of an `LlmAgent` of programs that were written for `@google/adk`: those of `@eventloom/llm-agent`, and nodes as tools. */
export interface AdkLlmAgentConfig extends Omit<LlmAgentConfig, 'tools' | 'generateContentConfig'> {
  readonly tools?: readonly AdkToolUnion[];
  /** Options of the model's service, such as `temperature`: an object, or a `GenerateContentConfig` of `@google/genai`. */
  readonly generateContentConfig?: GenerateContentConfig | KnownOptions<GenerateContentConfig>;
  /** Shorten the conversation that the model reads. Default: none. */
  readonly contextCompactors?: readonly BaseContextCompactor[] | undefined;
  /** Change requests to the model in place, before `beforeModelCallback`. They are added to what the runtime does. Default: none. */
  readonly requestProcessors?: readonly BaseLlmRequestProcessor[] | undefined;
  /** Change responses of the model in place, before `afterModelCallback`. Default: none. */
  readonly responseProcessors?: readonly BaseLlmResponseProcessor[] | undefined;
}

/**
 * The `LlmAgent` of programs that were written for `@google/adk`: that of `@eventloom/llm-agent`, with the behavior of the ADK. Nodes may be tools, sub-agents with a `mode` are tools too, and in a workflow the instruction can name the input of
 * its node, `{Name.field}`, and the outputs of other nodes, `<Name.field from node>`.
 *
 * @example
 * const agent = new LlmAgent({ name: 'weather', model: 'gemini-flash-latest', instruction: 'Answer questions about the weather.' });
 */
export class AdkLlmAgent extends LlmAgent {
  /** True if the options say that the agent sees the whole conversation. As the node of a workflow it otherwise sees only its input. */
  readonly seesConversation: boolean;
  readonly contextCompactors: readonly BaseContextCompactor[];
  readonly requestProcessors: readonly BaseLlmRequestProcessor[];
  readonly responseProcessors: readonly BaseLlmResponseProcessor[];
  /** True if nothing follows the last reply: no callback, and no code of a subclass. @internal */
  override readonly endsWithReply: boolean;
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
    } = config ?? {};
    const owner = `agent "${config?.name}"`;
    const before = [...shorteningCallbacks(owner, contextCompactors), ...requestCallbacks(owner, requestProcessors)];
    const after = responseCallbacks(owner, responseProcessors);
    // The agent refuses values that are not lists.
    const own = Array.isArray(tools) ? tools.map(toTool) : (tools as [] | undefined);
    const tasks = Array.isArray(options.subAgents) ? taskAgentTools(options.subAgents, own) : [];
    super({
      ...options,
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
    this.contextCompactors = contextCompactors;
    this.requestProcessors = requestProcessors;
    this.responseProcessors = responseProcessors;
    this.#tasks = tasks;
    // Tasks come before the agent's own turn, and never after its last reply.
    this.endsWithReply =
      this.afterAgentCallback.length === 0 && this.runAsyncImpl === AdkLlmAgent.prototype.runAsyncImpl;
    this.seesConversation = config.includeContents === 'default';
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const runTurn = (): AsyncGenerator<Event, void, void> => super.runAsyncImpl(context);
    return this.#tasks.length === 0 ? runTurn() : runTasks(context, this.#tasks, runTurn);
  }
}

function toTool(tool: AdkToolUnion): ToolUnion {
  return isBaseNode(tool) ? new NodeTool(tool) : adoptTool(tool);
}
