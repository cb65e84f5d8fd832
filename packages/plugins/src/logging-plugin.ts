import {
  BasePlugin,
  type BaseTool,
  ConfigurationError,
  type Content,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  isFinalResponse,
  type LlmRequest,
  type LlmResponse,
  type MaybePromise,
  type Part,
  type ToolContext,
} from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules } from '@eventloom/core/internal';
import type { OfAgent, OfRun, OfToolCall } from './callback-params.ts';

/** Options of `LoggingPlugin`. */
export interface LoggingPluginOptions {
  /** Name of the plugin. Default `logging_plugin`. */
  readonly name?: string | undefined;
  /** Called with each line of the log. Default: `console.log`. */
  readonly log?: ((line: string) => void) | undefined;
}

const OPTIONS: OptionRules<LoggingPluginOptions> = { name: 'text', log: 'function' };

/**
 * Logs the steps of every run for reading in a terminal: messages, agents, model requests and responses, tool calls, events and errors.
 * Long texts are truncated. For development only, because it logs the messages of users and models.
 *
 * @example
 * const runner = new InMemoryRunner({ agent, plugins: [new LoggingPlugin()] });
 */
export class LoggingPlugin extends BasePlugin {
  readonly #log: (line: string) => void;

  /** @param options options, or the name of the plugin @throws ConfigurationError for an unknown option */
  constructor(options: string | LoggingPluginOptions = {}) {
    const named = typeof options === 'string' ? { name: options } : options;
    checkOptions('LoggingPlugin', OPTIONS, named);
    const { name = 'logging_plugin', log = (line) => console.log(line) } = named;
    super(name);
    if (typeof log !== 'function')
      throw new ConfigurationError(
        `LoggingPlugin: log: expected a function, got ${describeKind(log)}; write log: (line) => console.error(line)`,
      );
    this.#log = log;
  }

  override onUserMessageCallback({
    invocationContext,
    userMessage,
  }: OfRun & { userMessage: Content }): MaybePromise<Content | undefined> {
    const { invocationId, session, userId, appName, agent, branch } = invocationContext;
    return this.#write('USER MESSAGE RECEIVED', {
      'Invocation ID': invocationId,
      'Session ID': session.id,
      'User ID': userId,
      'App Name': appName,
      'Root Agent': agent.name,
      'User Content': describeContent(userMessage),
      Branch: branch,
    });
  }

  override beforeRunCallback({ invocationContext: { invocationId, agent } }: OfRun): MaybePromise<Content | undefined> {
    return this.#write('INVOCATION STARTING', { 'Invocation ID': invocationId, 'Starting Agent': agent.name });
  }

  override onEventCallback({ event }: OfRun & { event: Event }): MaybePromise<Event | undefined> {
    // A reply may have hundreds of chunks, and the final event contains their text.
    if (event.partial === true) return undefined;
    return this.#write('EVENT YIELDED', {
      'Event ID': event.id,
      Author: event.author,
      Content: describeContent(event.content),
      'Final Response': isFinalResponse(event),
      'Function Calls': list(getFunctionCalls(event)),
      'Function Responses': list(getFunctionResponses(event)),
      'Long Running Tools': event.longRunningToolIds?.join(', '),
      Error: event.errorCode && `${event.errorCode}: ${event.errorMessage}`,
    });
  }

  override afterRunCallback({ invocationContext: { invocationId, agent } }: OfRun): MaybePromise<void> {
    return this.#write('INVOCATION COMPLETED', { 'Invocation ID': invocationId, 'Final Agent': agent.name });
  }

  override onRunErrorCallback({
    invocationContext: { invocationId },
    error,
  }: OfRun & { error: Error }): MaybePromise<void> {
    return this.#write('INVOCATION FAILED', { 'Invocation ID': invocationId, Error: String(error) });
  }

  override beforeAgentCallback({ callbackContext }: OfAgent): MaybePromise<Content | undefined> {
    const { agentName, invocationId, invocationContext } = callbackContext;
    return this.#write('AGENT STARTING', {
      'Agent Name': agentName,
      'Invocation ID': invocationId,
      Branch: invocationContext.branch,
    });
  }

  override afterAgentCallback({
    callbackContext: { agentName, invocationId },
  }: OfAgent): MaybePromise<Content | undefined> {
    return this.#write('AGENT COMPLETED', { 'Agent Name': agentName, 'Invocation ID': invocationId });
  }

  override onAgentErrorCallback({
    callbackContext: { agentName },
    error,
  }: OfAgent & { error: unknown }): MaybePromise<Content | undefined> {
    return this.#write('AGENT ERROR', { 'Agent Name': agentName, Error: String(error) });
  }

  override beforeModelCallback({
    callbackContext,
    llmRequest,
  }: OfAgent & { llmRequest: LlmRequest }): MaybePromise<LlmResponse | undefined> {
    const { systemInstruction } = llmRequest.config;
    return this.#write('LLM REQUEST', {
      Model: llmRequest.model ?? 'default',
      Agent: callbackContext.agentName,
      'System Instruction': systemInstruction
        ? `'${shorten(typeof systemInstruction === 'string' ? systemInstruction : describeValue(systemInstruction), 200)}'`
        : undefined,
      'Available Tools': Object.keys(llmRequest.toolsDict).join(', '),
    });
  }

  override afterModelCallback({
    callbackContext,
    llmResponse,
  }: OfAgent & { llmResponse: LlmResponse }): MaybePromise<LlmResponse | undefined> {
    const { partial, errorCode, errorMessage, content, turnComplete, usageMetadata } = llmResponse;
    if (partial === true) return;
    return this.#write('LLM RESPONSE', {
      Agent: callbackContext.agentName,
      Error: errorCode && `${errorCode}: ${errorMessage}`,
      Content: errorCode ? undefined : describeContent(content),
      'Turn Complete': turnComplete,
      'Token Usage':
        usageMetadata &&
        `Input: ${usageMetadata.promptTokenCount ?? 'unknown'}, Output: ${usageMetadata.candidatesTokenCount ?? 'unknown'}`,
    });
  }

  override onModelErrorCallback({
    callbackContext,
    error,
  }: OfAgent & { llmRequest?: LlmRequest; error: Error }): MaybePromise<LlmResponse | undefined> {
    return this.#write('LLM ERROR', { Agent: callbackContext.agentName, Error: String(error) });
  }

  override beforeToolCallback({
    tool,
    toolArgs,
    toolContext,
  }: OfToolCall): MaybePromise<Record<string, unknown> | undefined> {
    return this.#write('TOOL STARTING', { ...toolLines(tool, toolContext), Arguments: describeValue(toolArgs) });
  }

  override afterToolCallback({
    tool,
    toolContext,
    result,
  }: OfToolCall & { result: unknown }): MaybePromise<Record<string, unknown> | undefined> {
    return this.#write('TOOL COMPLETED', { ...toolLines(tool, toolContext), Result: describeValue(result) });
  }

  override onToolErrorCallback({
    tool,
    toolArgs,
    toolContext,
    error,
  }: OfToolCall & { error: Error }): MaybePromise<Record<string, unknown> | undefined> {
    const lines = { ...toolLines(tool, toolContext), Arguments: describeValue(toolArgs), Error: String(error) };
    return this.#write('TOOL ERROR', lines);
  }

  /** Logs a heading, and a line for each value that is not undefined. */
  #write(heading: string, values: Readonly<Record<string, string | boolean | undefined>>): undefined {
    this.#log(`[${this.name}] ${heading}`);
    for (const [name, value] of Object.entries(values))
      if (value !== undefined && value !== '') this.#log(`[${this.name}]    ${name}: ${value}`);
  }
}

function toolLines({ name }: BaseTool, { agentName, functionCallId }: ToolContext): Record<string, string> {
  return { 'Tool Name': name, Agent: agentName, 'Function Call ID': functionCallId };
}

function list(named: readonly { readonly name?: string }[]): string {
  return named.map(({ name }) => name).join(', ');
}

/** Returns the parts of a content in one line. Texts are truncated to 200 characters. */
function describeContent(content: Content | undefined): string {
  return content?.parts?.length ? content.parts.map(describePart).join(' | ') : 'none';
}

function describePart(part: Part): string {
  const { text, functionCall, functionResponse, codeExecutionResult, executableCode, inlineData, fileData } = part;
  if (text !== undefined) return `text: '${shorten(text.trim(), 200)}'`;
  if (functionCall) return `function_call: ${functionCall.name}`;
  if (functionResponse) return `function_response: ${functionResponse.name}`;
  if (executableCode) return 'executable_code';
  if (codeExecutionResult) return 'code_execution_result';
  if (inlineData) return `inline_data: ${inlineData.mimeType}`;
  return fileData ? `file_data: ${fileData.fileUri}` : 'other_part';
}

/** Returns a value as JSON, truncated to 300 characters. */
function describeValue(value: unknown): string {
  return shorten(JSON.stringify(value) ?? 'undefined', 300);
}

/** Truncates a text to a number of characters. */
function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}...`;
}
