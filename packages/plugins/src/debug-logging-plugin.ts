import {
  BasePlugin,
  type BaseTool,
  type Content,
  type Event,
  type Invocation,
  type InvocationContext,
  isFinalResponse,
  type LlmRequest,
  type LlmResponse,
  type MaybePromise,
  type Part,
  type ToolContext,
} from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import { appendToFile } from '#append-file';
import type { OfAgent, OfRun, OfToolCall } from './callback-params.ts';
import { toYaml } from './to-yaml.ts';

/** Options of `DebugLoggingPlugin`. */
export interface DebugLoggingPluginOptions {
  /** Name of the plugin. Default `debug_logging_plugin`. */
  readonly name?: string | undefined;
  /** The file, relative to the folder of the process. Node only. Default `adk_debug.yaml`. */
  readonly outputPath?: string | undefined;
  /** Called with the document of each run instead of writing the file. Default: the file is written. */
  readonly write?: ((document: string) => MaybePromise<void>) | undefined;
  /** True adds the session's state at the end of each run, without `temp:` keys. Default true. */
  readonly includeSessionState?: boolean | undefined;
  /** True adds system instructions, false only their lengths. Default true. */
  readonly includeSystemInstruction?: boolean | undefined;
}

const OPTIONS: OptionRules<DebugLoggingPluginOptions> = {
  name: 'text',
  outputPath: 'text',
  write: 'function',
  includeSessionState: 'flag',
  includeSystemInstruction: 'flag',
};

/** One step of a run. */
interface DebugEntry {
  readonly timestamp: string;
  readonly entry_type: string;
  readonly invocation_id: string;
  readonly agent_name?: string | undefined;
  readonly data: object;
}

/**
 * Writes one YAML document for each run to a file, with the names that adk-python uses: model requests and responses, tool calls, events,
 * and the state at the end. The bytes of media are left out.
 *
 * For development only: the file contains whole conversations and grows without a limit. Only its owner may read it.
 *
 * @example
 * const runner = new InMemoryRunner({ agent, plugins: [new DebugLoggingPlugin({ outputPath: 'debug.yaml' })] });
 */
export class DebugLoggingPlugin extends BasePlugin {
  readonly #write: (document: string) => MaybePromise<void>;
  readonly #includeSessionState: boolean;
  readonly #includeSystemInstruction: boolean;
  readonly #runs = new WeakMap<Invocation, DebugEntry[]>();
  /** Resolves when the pending documents are written, so that documents of several runs do not mix. */
  #written: Promise<void> = Promise.resolve();

  /** @throws ConfigurationError for an unknown option */
  constructor(options: DebugLoggingPluginOptions = {}) {
    checkOptions('DebugLoggingPlugin', OPTIONS, options);
    const { name = 'debug_logging_plugin', outputPath = 'adk_debug.yaml', write } = options;
    super(name);
    this.#write = write ?? ((document) => appendToFile(outputPath, document));
    this.#includeSessionState = options.includeSessionState ?? true;
    this.#includeSystemInstruction = options.includeSystemInstruction ?? true;
  }

  override onUserMessageCallback({ invocationContext, userMessage }: OfRun & { userMessage: Content }): undefined {
    this.#add(invocationContext, 'user_message', { content: plainContent(userMessage) });
  }

  override beforeRunCallback({ invocationContext }: OfRun): undefined {
    this.#add(
      invocationContext,
      'invocation_start',
      { branch: invocationContext.branch },
      invocationContext.agent.name,
    );
  }

  override beforeAgentCallback({ callbackContext: { invocationContext, agentName } }: OfAgent): undefined {
    this.#add(invocationContext, 'agent_start', { branch: invocationContext.branch }, agentName);
  }

  override afterAgentCallback({ callbackContext: { invocationContext, agentName } }: OfAgent): undefined {
    this.#add(invocationContext, 'agent_end', {}, agentName);
  }

  override beforeModelCallback({ callbackContext, llmRequest }: OfAgent & { llmRequest: LlmRequest }): undefined {
    const { model, contents, config, toolsDict } = llmRequest;
    const { systemInstruction: instruction } = config;
    const text = typeof instruction === 'string' ? instruction : JSON.stringify(instruction);
    const data = {
      model,
      content_count: contents.length,
      contents: contents.map(plainContent),
      tools: Object.keys(toolsDict),
      config: {
        ...(text !== undefined &&
          (this.#includeSystemInstruction ? { system_instruction: text } : { system_instruction_length: text.length })),
        temperature: config.temperature,
        top_p: config.topP,
        top_k: config.topK,
        max_output_tokens: config.maxOutputTokens,
        response_mime_type: config.responseMimeType,
        has_response_schema:
          config.responseSchema !== undefined || config.responseJsonSchema !== undefined || undefined,
      },
    };
    this.#add(callbackContext.invocationContext, 'llm_request', data, callbackContext.agentName);
  }

  override afterModelCallback({ callbackContext, llmResponse }: OfAgent & { llmResponse: LlmResponse }): undefined {
    const data = {
      ...replyData(llmResponse),
      finish_reason: llmResponse.finishReason,
      model_version: llmResponse.modelVersion,
    };
    this.#add(callbackContext.invocationContext, 'llm_response', data, callbackContext.agentName);
  }

  override onModelErrorCallback({
    callbackContext,
    llmRequest,
    error,
  }: OfAgent & { llmRequest: LlmRequest; error: Error }): undefined {
    const data = { ...errorData(error), model: llmRequest.model };
    this.#add(callbackContext.invocationContext, 'llm_error', data, callbackContext.agentName);
  }

  override beforeToolCallback({ tool, toolArgs, toolContext }: OfToolCall): undefined {
    this.#addTool('tool_call', tool, toolContext, { args: plain(toolArgs) });
  }

  override afterToolCallback({ tool, toolContext, result }: OfToolCall & { result: unknown }): undefined {
    this.#addTool('tool_response', tool, toolContext, { result: plain(result) });
  }

  override onToolErrorCallback({ tool, toolArgs, toolContext, error }: OfToolCall & { error: Error }): undefined {
    this.#addTool('tool_error', tool, toolContext, { args: plain(toolArgs), ...errorData(error) });
  }

  override onEventCallback({ invocationContext, event }: OfRun & { event: Event }): undefined {
    const { actions } = event;
    const data = {
      event_id: event.id,
      author: event.author,
      ...replyData(event),
      is_final_response: isFinalResponse(event),
      branch: event.branch,
      actions: {
        state_delta: plain(actions.stateDelta),
        artifact_delta: plain(actions.artifactDelta),
        transfer_to_agent: actions.transferToAgent,
        escalate: actions.escalate,
        // Logs only the number of requests, because they contain credentials.
        requested_auth_configs: Object.keys(actions.requestedAuthConfigs ?? {}).length || undefined,
      },
      long_running_tool_ids: event.longRunningToolIds?.slice(),
    };
    this.#add(invocationContext, 'event', data, event.author);
  }

  override afterRunCallback({ invocationContext }: OfRun): Promise<void> {
    return this.#finish(invocationContext, {});
  }

  override onRunErrorCallback({ invocationContext, error }: OfRun & { error: Error }): Promise<void> {
    return this.#finish(invocationContext, errorData(error));
  }

  async #finish(context: InvocationContext, data: object): Promise<void> {
    const { invocation, invocationId, session, appName, userId } = context;
    if (this.#includeSessionState) {
      const state = Object.entries(session.state).filter(([key]) => !key.startsWith('temp:'));
      const snapshot = { state: plain(Object.fromEntries(state)), event_count: session.events.length };
      this.#add(context, 'session_state_snapshot', snapshot);
    }
    this.#add(context, 'invocation_end', data);
    const entries = this.#runs.get(invocation) ?? [];
    this.#runs.delete(invocation);
    const run = {
      invocation_id: invocationId,
      session_id: session.id,
      app_name: appName,
      user_id: userId,
      start_time: entries[0]?.timestamp,
      entries,
    };
    const before = this.#written;
    const writing = (async (): Promise<void> => {
      await before;
      await this.#write(`---\n${toYaml(run)}`);
    })();
    this.#written = writing.then(
      () => undefined,
      () => undefined,
    );
    await writing;
  }

  #addTool(
    type: string,
    tool: BaseTool,
    { invocationContext, agentName, functionCallId }: ToolContext,
    data: object,
  ): void {
    this.#add(invocationContext, type, { tool_name: tool.name, function_call_id: functionCallId, ...data }, agentName);
  }

  #add(context: InvocationContext, type: string, data: object, agentName?: string): void {
    const { invocation, invocationId, platform } = context;
    let entries = this.#runs.get(invocation);
    if (!entries) this.#runs.set(invocation, (entries = []));
    const timestamp = new Date(platform.now()).toISOString();
    entries.push({ timestamp, entry_type: type, invocation_id: invocationId, agent_name: agentName, data });
  }
}

function errorData(error: Error): object {
  return { error_type: error.name, error_message: error.message };
}

function replyData(reply: LlmResponse | Event): object {
  const { content, partial, turnComplete, errorCode, errorMessage, usageMetadata, groundingMetadata } = reply;
  return {
    content: plainContent(content),
    partial,
    turn_complete: turnComplete,
    error_code: errorCode,
    error_message: errorMessage,
    usage_metadata: usageMetadata && {
      prompt_token_count: usageMetadata.promptTokenCount,
      candidates_token_count: usageMetadata.candidatesTokenCount,
      total_token_count: usageMetadata.totalTokenCount,
    },
    has_grounding_metadata: groundingMetadata !== undefined || undefined,
  };
}

function plainContent(content: Content | undefined): object | undefined {
  return content && { role: content.role, parts: content.parts?.map(plainPart) };
}

function plainPart({
  text,
  functionCall,
  functionResponse,
  inlineData,
  fileData,
  codeExecutionResult,
  executableCode,
}: Part): object {
  return {
    text,
    function_call: functionCall && { id: functionCall.id, name: functionCall.name, args: plain(functionCall.args) },
    function_response: functionResponse && {
      id: functionResponse.id,
      name: functionResponse.name,
      response: plain(functionResponse.response),
    },
    inline_data: inlineData && {
      mime_type: inlineData.mimeType,
      display_name: inlineData.displayName,
      _data_omitted: true,
    },
    file_data: fileData && { file_uri: fileData.fileUri, mime_type: fileData.mimeType },
    code_execution_result: codeExecutionResult && { ...codeExecutionResult },
    executable_code: executableCode && { ...executableCode },
  };
}

/** Returns a copy, because tools and callbacks may change their objects before the run ends. */
function plain(value: unknown): unknown {
  const json = JSON.stringify(value);
  return json === undefined ? undefined : (JSON.parse(json) as unknown);
}
