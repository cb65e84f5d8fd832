import { describeKind } from '../content/json.ts';
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
 * Has a say in every run of a runner: loggers, guards, caches. A plugin overrides the callbacks it wants; those it leaves alone
 * cost nothing. Plugins are asked in the order they were given, before an agent's own callbacks; the first value that is not
 * undefined is taken and nobody is asked after it. What a callback throws fails the run.
 */
export abstract class BasePlugin {
  readonly name: string;

  /** @param name names the plugin in messages @throws ConfigurationError for anything but a text */
  constructor(name: string) {
    if (typeof name !== 'string' || name === '')
      throw new ConfigurationError(
        `${new.target.name}: the name of a plugin must be a text, is ${describeKind(name)}; write super('logging')`,
      );
    this.name = name;
  }

  /** The user's message before it is stored; a value replaces it. */
  onUserMessageCallback(_params: { invocationContext: InvocationContext; userMessage: Content }): Answer<Content> {
    return undefined;
  }

  /** Before the agent; a value is the run's only answer. */
  beforeRunCallback(_params: { invocationContext: InvocationContext }): Answer<Content> {
    return undefined;
  }

  /** Each event before it is stored and yielded; a value replaces it, all but its id, invocation id and time. */
  onEventCallback(_params: { invocationContext: InvocationContext; event: Event }): Answer<Event> {
    return undefined;
  }

  /** After a run that succeeded. */
  afterRunCallback(_params: { invocationContext: InvocationContext }): Promise<void> | void {
    return undefined;
  }

  /** Told of a run that failed, after its error event. Every plugin is told. */
  onRunErrorCallback(_params: { invocationContext: InvocationContext; error: Error }): Promise<void> | void {
    return undefined;
  }

  /** Before each agent; a value is said instead of it. */
  beforeAgentCallback(_params: { agent: BaseAgent; callbackContext: CallbackContext }): Answer<Content> {
    return undefined;
  }

  /** After each agent; a value is said in addition. */
  afterAgentCallback(_params: { agent: BaseAgent; callbackContext: CallbackContext }): Answer<Content> {
    return undefined;
  }

  /** An agent threw; a value is said instead, and the run goes on. */
  onAgentErrorCallback(_params: {
    agent: BaseAgent;
    callbackContext: CallbackContext;
    error: unknown;
  }): Answer<Content> {
    return undefined;
  }

  /** Before each model call, whose request may be changed; a value is used instead of the model's answer. */
  beforeModelCallback(_params: { callbackContext: CallbackContext; llmRequest: LlmRequest }): Answer<LlmResponse> {
    return undefined;
  }

  /** After each model response, chunks included; a value replaces it. */
  afterModelCallback(_params: { callbackContext: CallbackContext; llmResponse: LlmResponse }): Answer<LlmResponse> {
    return undefined;
  }

  /** A model call failed; a value is used as its answer. */
  onModelErrorCallback(_params: {
    callbackContext: CallbackContext;
    llmRequest: LlmRequest;
    error: Error;
  }): Answer<LlmResponse> {
    return undefined;
  }

  /** The tools that a model request is about to offer; a value replaces them. */
  beforeToolSelection(_params: {
    callbackContext: CallbackContext;
    tools: Readonly<Record<string, BaseTool>>;
  }): Answer<Readonly<Record<string, BaseTool>>> {
    return undefined;
  }

  /** Before each tool call, whose arguments may be changed; a value is used instead of the tool's answer. */
  beforeToolCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
  }): Answer<Record<string, unknown>> {
    return undefined;
  }

  /** After each tool call; a value replaces the answer. */
  afterToolCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
    result: Record<string, unknown>;
  }): Answer<Record<string, unknown>> {
    return undefined;
  }

  /** A tool threw; a value is its answer. */
  onToolErrorCallback(_params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
    error: Error;
  }): Answer<Record<string, unknown>> {
    return undefined;
  }

  /** Releases what the plugin holds, when the runner is closed. */
  close(): Promise<void> | void {
    return undefined;
  }
}
