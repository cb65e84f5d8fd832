import type { Platform, ToolContext } from '@eventloom/core';
import { reportTo } from '@eventloom/core/internal';
import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import type { ActiveCall } from './active-calls.ts';
import { toToolResult } from './call-result.ts';
import { type AnswerQuestion, type CallContinuation, Questions } from './elicitation.ts';
import { MCPLimitError, MCPProtocolError } from './errors.ts';
import type { MCPConnection } from './mcp-connection.ts';
import { sample } from './sampling.ts';
import type { ServerTool } from './server-tools.ts';

/** Maximum number of times that a server may require input in one run of a call. */
const MAX_ROUNDS = 10;
/** Time before a call is sent again to a server that is not ready for it. */
const RETRY_MS = 250;
/** Time between two progress messages of a call. */
const PROGRESS_INTERVAL_MS = 100;

/** The parts of a toolset that its calls need. */
interface ServerCallsParams {
  /** Name of the toolset, for errors. */
  readonly server: string;
  readonly callTimeoutMs: number;
  readonly allowSampling?: boolean | undefined;
  readonly allowElicitation?: boolean | undefined;
  readonly onElicitation?: AnswerQuestion | undefined;
  readonly platform: Platform;
}

/** Calls tools of a server. Handles progress messages, questions to the person and requests to the agent's model. */
export class ServerCalls {
  readonly #params: ServerCallsParams;

  constructor(params: ServerCallsParams) {
    this.#params = params;
  }

  /** Returns the result of a call for the model; undefined if the person is asked first. */
  async call(
    connection: MCPConnection,
    tool: ServerTool,
    args: Record<string, unknown>,
    toolContext: ToolContext,
  ): Promise<unknown> {
    const controller = new AbortController();
    const call: ActiveCall = {
      toolContext,
      questions: new Questions(this.#params.server, toolContext, this.#params.onElicitation),
      interrupt: () => controller.abort(),
      isUnclear: false,
    };
    const signal = AbortSignal.any([toolContext.abortSignal, controller.signal]);
    const progress = new ProgressMessages((value) => toolContext.emit(value), this.#params.platform);
    const exchange = (): Promise<unknown> => this.#exchange(connection, tool, args, call, signal, progress);
    const result = await connection.calls.during(call, exchange).finally(() => progress.discard());
    if (!call.questions.areOpen) return call.isUnclear ? this.#unclear(result) : result;
    call.questions.ask();
    return undefined;
  }

  /** Sends a call, and sends it again with the answers that the server requires. */
  async #exchange(
    connection: MCPConnection,
    { serverToolName: name, definition: toolDefinition, idempotent }: ServerTool,
    args: Record<string, unknown>,
    { toolContext, questions }: ActiveCall,
    signal: AbortSignal,
    progress: ProgressMessages,
  ): Promise<unknown> {
    let continuation = questions.continuation();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result: CallToolResult | InputRequiredResult = await connection
        .send(
          ({ client }, { options, meta }) =>
            client.callTool(
              { name, arguments: args, ...meta, ...continuation },
              { ...options, toolDefinition, allowInputRequired: true },
            ),
          {
            isRepeatable: idempotent,
            timeoutMs: this.#params.callTimeoutMs,
            signal,
            onProgress: (value) => progress.add(value),
            traceHeaders: toolContext.traceHeaders,
          },
        )
        .catch(async (error: unknown) => {
          // The result of a call whose questions are still open does not count: the call is sent again after the answers.
          toolContext.abortSignal.throwIfAborted();
          if (questions.areOpen || (await this.#asksToOpen(error, questions))) return { content: [] };
          throw error;
        });
      if (!isInputRequiredResult(result)) {
        await progress.end();
        return toToolResult(result);
      }
      continuation = await this.#answersTo(result, toolContext, questions);
      if (!continuation) return undefined;
      if (!continuation.inputResponses) await this.#pause(signal);
    }
    throw new MCPLimitError(
      `MCP server "${this.#params.server}": requires input more than ${MAX_ROUNDS} times in a call`,
    );
  }

  /** True if a call failed because the person has to open addresses first. Asks the person to open them. */
  async #asksToOpen(error: unknown, questions: Questions): Promise<boolean> {
    const { allowElicitation = true } = this.#params;
    const { cause } = error instanceof Error ? error : {};
    if (!allowElicitation || !(cause instanceof UrlElicitationRequiredError)) return false;
    for (const question of cause.elicitations.slice(0, MAX_ROUNDS)) await questions.answerTo(question);
    return questions.areOpen;
  }

  async #answersTo(
    required: InputRequiredResult,
    toolContext: ToolContext,
    questions: Questions,
  ): Promise<CallContinuation | undefined> {
    const { allowSampling = false, allowElicitation = true } = this.#params;
    const methods = Object.values(required.inputRequests ?? {}).map(({ method }) => method);
    const forbidden =
      (!allowElicitation && methods.includes('elicitation/create')) ||
      (!allowSampling && methods.includes('sampling/createMessage'));
    if (forbidden)
      throw new MCPProtocolError(
        `MCP server "${this.#params.server}": asks for a kind of input that this client did not offer`,
      );
    try {
      return await questions.answersTo(required, (params) => sample(params, toolContext));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new MCPProtocolError(
        `MCP server "${this.#params.server}": requires input that cannot be given: ${error.message}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Waits before a call is sent again to a server that is not ready for it. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#params.platform.schedule(RETRY_MS, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    cancel();
  }

  #unclear(result: unknown): unknown {
    return {
      error: `MCP server "${this.#params.server}" asked the user something during several calls at once, so the user was not asked. Call its tools one after the other.`,
      result,
    };
  }
}

/**
 * Passes on the progress messages of a call, so that a server cannot flood the readers of a run: at most one in 100 ms, and only after the
 * reader has read the previous one. Of those that arrive meanwhile only the newest is kept.
 */
class ProgressMessages {
  readonly #emit: (value: unknown) => Promise<boolean>;
  readonly #platform: Platform;
  #newest: { readonly value: unknown } | undefined;
  #passing: Promise<void> | undefined;
  #endPause: (() => void) | undefined;
  #isEnded = false;

  constructor(emit: (value: unknown) => Promise<boolean>, platform: Platform) {
    this.#emit = emit;
    this.#platform = platform;
  }

  add(value: unknown): void {
    if (this.#isEnded) return;
    this.#newest = { value };
    this.#passing ??= this.#passOn()
      .catch((error: unknown) => reportTo(this.#platform, error))
      .finally(() => (this.#passing = undefined));
  }

  /** Passes on the waiting message without a pause. Resolves after it was read. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#endPause?.();
    await this.#passing;
  }

  /** Drops the waiting message. */
  discard(): void {
    this.#isEnded = true;
    this.#newest = undefined;
    this.#endPause?.();
  }

  async #passOn(): Promise<void> {
    for (let next = this.#newest; next; next = this.#newest) {
      this.#newest = undefined;
      await this.#emit(next.value);
      if (!this.#isEnded) await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#endPause = resolve;
    const cancel = this.#platform.schedule(PROGRESS_INTERVAL_MS, resolve, { idle: true });
    await promise;
    cancel();
  }
}
