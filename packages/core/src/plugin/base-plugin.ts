import { describeKind } from '../content/json.ts';
import { misspeltName } from '../agent/nearest-names.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseAgent } from '../agent/base-agent.ts';
import type { Content } from '../content/content.ts';
import type { CallbackContext } from '../context/callback-context.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import type { ToolContext } from '../context/tool-context.ts';
import type { Event } from '../event/event.ts';
import type { LlmRequest } from '../model/llm-request.ts';
import type { LlmResponse } from '../model/llm-response.ts';
import type { BaseTool } from '../tool/base-tool.ts';

type Answer<T> = Promise<T | undefined | void> | T | undefined | void;

/**
 * Base class of plugins: callbacks that apply to all agents and tools of a runner, such as a log, a cost limit or a cache. A callback
 * of one agent is set in the options of that agent instead.
 *
 * A plugin overrides the methods it needs. A method that returns undefined only observes. A method that returns a value changes the run,
 * as its own description says; then later plugins and the agent's own callback of that kind are not called. Plugins are called in the
 * order of the runner's `plugins`, before the agents' own callbacks. A method that throws fails the run.
 *
 * One plugin object serves all runs, also at the same time: keep data of a run under its `invocationId`.
 *
 * @example
 * class ToolLog extends BasePlugin {
 *   constructor() {
 *     super('tool-log');
 *   }
 *
 *   override beforeToolCallback({ tool, toolArgs }: { tool: BaseTool; toolArgs: Record<string, unknown> }): undefined {
 *     console.log(tool.name, toolArgs);
 *   }
 * }
 * const runner = new Runner({ appName: 'app', agent, sessionService, plugins: [new ToolLog()] });
 */
export abstract class BasePlugin {
  /** Unique name among the plugins of a runner. */
  readonly name: string;

  /**
   * @param name the plugin's name in error messages; two plugins of a runner cannot have the same name
   * @throws ConfigurationError if it is empty, and for a method with the misspelt name of a callback
   */
  constructor(name: string) {
    if (typeof name !== 'string' || name === '')
      throw new ConfigurationError(
        `${new.target.name}: name: expected a non-empty string, got ${describeKind(name)}; write super('logging')`,
      );
    checkCallbackNames(new.target, BasePlugin.prototype);
    this.name = name;
  }

  /** Called with the user's message before it is stored. A returned content replaces the message. */
  onUserMessageCallback(_params: { invocationContext: InvocationContext; userMessage: Content }): Answer<Content> {
    return undefined;
  }

  /** Called before the root agent runs. A returned content is the run's only answer, and no agent runs. */
  beforeRunCallback(_params: { invocationContext: InvocationContext }): Answer<Content> {
    return undefined;
  }

  /**
   * Called with each event before it is stored and yielded, but not with those that only record where a resumable agent
   * is. A returned event replaces it; its id, invocation id and timestamp stay those of the original.
   */
  onEventCallback(_params: { invocationContext: InvocationContext; event: Event }): Answer<Event> {
    return undefined;
  }

  /** Called after a run that did not fail. Every plugin is called. */
  afterRunCallback(_params: { invocationContext: InvocationContext }): Promise<void> | void {
    return undefined;
  }

  /** Called after a run failed, when its error event is stored. Every plugin is called. */
  onRunErrorCallback(_params: { invocationContext: InvocationContext; error: Error }): Promise<void> | void {
    return undefined;
  }

  /** Called before each agent. A returned content is the agent's answer, and the agent does not run. */
  beforeAgentCallback(_params: { agent: BaseAgent; callbackContext: CallbackContext }): Answer<Content> {
    return undefined;
  }

  /** Called after each agent. A returned content is added as one more event of the agent. */
  afterAgentCallback(_params: { agent: BaseAgent; callbackContext: CallbackContext }): Answer<Content> {
    return undefined;
  }

  /** Called after an agent threw. A returned content is the agent's answer, and the run continues. */
  onAgentErrorCallback(_params: {
    agent: BaseAgent;
    callbackContext: CallbackContext;
    error: unknown;
  }): Answer<Content> {
    return undefined;
  }

  /** Called before each model call; it may change the request. A returned response is used, and the model is not called. */
  beforeModelCallback(_params: { callbackContext: CallbackContext; llmRequest: LlmRequest }): Answer<LlmResponse> {
    return undefined;
  }

  /** Called after each model response, including chunks. A returned response replaces it. */
  afterModelCallback(_params: { callbackContext: CallbackContext; llmResponse: LlmResponse }): Answer<LlmResponse> {
    return undefined;
  }

  /** Called after a model call failed. A returned response is used as the model's answer. */
  onModelErrorCallback(_params: {
    callbackContext: CallbackContext;
    llmRequest: LlmRequest;
    error: Error;
  }): Answer<LlmResponse> {
    return undefined;
  }

  /**
   * Called before each model request with the tools that it offers, by name. A returned record is offered instead:
   * leave tools out to hide them.
   */
  beforeToolSelection(_params: {
    callbackContext: CallbackContext;
    tools: Readonly<Record<string, BaseTool>>;
  }): Answer<Readonly<Record<string, BaseTool>>> {
    return undefined;
  }

  /** Called before each tool call; it may change the arguments. A returned record is used as the response, and the tool does not run. */
  beforeToolCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
  }): Answer<Record<string, unknown>> {
    return undefined;
  }

  /**
   * Called after each tool call. `result` is what the tool returned, unchanged, and of any type. A returned record
   * replaces the response.
   */
  afterToolCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
    result: Record<string, unknown>;
  }): Answer<Record<string, unknown>> {
    return undefined;
  }

  /** Called after a tool threw. A returned record is used as the response. */
  onToolErrorCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
    error: Error;
  }): Answer<Record<string, unknown>> {
    return undefined;
  }

  /** Releases the plugin's resources. Called when the runner is closed. */
  close(): Promise<void> | void {
    return undefined;
  }
}

/**
 * Checks the names of the methods of a class and its parents.
 * @throws ConfigurationError for a name that is one character off a callback, because such a method is never called
 */
function checkCallbackNames({ name, prototype }: { name: string; prototype: BasePlugin }, base: BasePlugin): void {
  const callbacks = Object.getOwnPropertyNames(base).filter((method) => /Callback$|^beforeTool/.test(method));
  for (let level = prototype; level !== base && level !== null; level = Object.getPrototypeOf(level) as BasePlugin) {
    for (const method of Object.getOwnPropertyNames(level)) {
      const meant = callbacks.includes(method) ? undefined : misspeltName(method, callbacks);
      if (meant !== undefined && prototype[meant as never] === base[meant as never])
        throw new ConfigurationError(`${name}: no callback of plugins has the name ${method}; did you mean ${meant}?`);
    }
  }
}
