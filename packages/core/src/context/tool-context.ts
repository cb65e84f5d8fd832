import type { FunctionCall } from '../content/content.ts';
import { describeKind, getOwn, isRecord, type JsonValue, setOwn } from '../content/json.ts';
import type { AuthConfig, AuthCredential } from '../credential/auth-config.ts';
import { ConfigurationError, RunAbortedError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { ToolConfirmation } from '../event/event-actions.ts';
import type { BaseLiveRequestQueue } from '../live/live-request-queue.ts';
import type { ObservedOperation, TraceHeaders } from '../instrumentation/instrumentation.ts';
import { continuesCalls } from '../tool/run-under-ledger.ts';
import type { BaseTool, ResponseScheduling } from '../tool/base-tool.ts';
import { type InputRequestParams, toInputRequest, type ToolRequest, toolRequestOf } from '../calls/person-requests.ts';
import { REQUEST_CREDENTIAL } from '../tool/reserved-calls.ts';
import { CallbackContext, type CallbackContextParams, toJson } from './callback-context.ts';

/**
 * Receives events that a tool emits while it runs. `progress` and `event` resolve to true once the event was read, and
 * to false if the stream has no reader.
 */
export interface ToolListener {
  progress(output: JsonValue, scheduling: ResponseScheduling | undefined): Promise<boolean>;
  event(event: Event): Promise<boolean>;
  /**
   * Reports that the tool now reads the client's input. Resolves once the model has received the report. Undefined if
   * no report is sent.
   */
  began?(): Promise<void> | undefined;
}

/** Parameters of a tool context. */
export interface ToolContextParams extends CallbackContextParams {
  readonly functionCallId: string;
  /** Receives progress and events of the tool. Without it they are discarded. */
  readonly listener?: ToolListener | undefined;
  /** The answer of the person who was asked to confirm this call. */
  readonly toolConfirmation?: ToolConfirmation | undefined;
  /** Answers to the tool's requests for input, by the key of the question. */
  readonly inputs?: ReadonlyMap<string, unknown> | undefined;
  /** The tool, which says whether the call can run again. Default: it can. */
  readonly tool?: BaseTool | undefined;
  /** The calls that requested a person's answer about this call, oldest first. */
  readonly requests?: readonly FunctionCall[] | undefined;
}

const NO_REQUESTS: readonly ToolRequest[] = [];
const NO_CALLS: readonly FunctionCall[] = [];

/**
 * The second parameter of a tool's function: state, artifacts and memory of the session, the id of the call, and ways to ask people and to
 * report progress.
 *
 * @example
 * const tool = new FunctionTool({
 *   name: 'count',
 *   description: 'Counts its calls.',
 *   execute: (_args, toolContext) => {
 *     const calls = toolContext.state.get('calls', 0) + 1;
 *     toolContext.state.set('calls', calls);
 *     return { calls };
 *   },
 * });
 */
export class ToolContext extends CallbackContext {
  /** The id of the function call. It distinguishes calls of one reply, and identifies the call when its result comes later. */
  override readonly functionCallId: string;
  /**
   * Output of a streaming tool before it failed, merged like its result. A tool may set it before it throws: the model
   * gets it together with the error.
   */
  partialOutput: unknown = undefined;
  /**
   * Tells the model of a live run how to treat the events and the result that follow. Initially the tool's own
   * `responseScheduling`; undefined leaves it to the model. Only for calls that let the model continue to speak (`nonBlocking`).
   */
  responseScheduling: ResponseScheduling | undefined = undefined;
  /**
   * Requests to a person that earlier runs of this call made, as they were stored, oldest first. Empty in the first run of
   * the call. A tool reads here the payload that it asked a person to confirm.
   */
  readonly requests: readonly ToolRequest[];
  /**
   * True once the tool has returned or thrown: agents that it runs cannot wait for a person any more. Set by
   * `runUnderLedger`. @internal
   */
  hasReturned = false;
  /** Observes the call. @internal */
  operation: ObservedOperation | undefined = undefined;
  readonly #listener: ToolListener | undefined;
  readonly #inputs: ReadonlyMap<string, unknown> | undefined;
  readonly #requestCalls: readonly FunctionCall[];
  readonly #tool: BaseTool | undefined;
  /** Credentials that were given for requests of this call, by their key. */
  #given: ReadonlyMap<string, AuthCredential> | undefined;
  #isPaused = false;

  constructor(params: ToolContextParams) {
    super(params);
    this.functionCallId = params.functionCallId;
    this.toolConfirmation = params.toolConfirmation;
    this.#listener = params.listener;
    this.#inputs = params.inputs;
    this.#requestCalls = params.requests ?? NO_CALLS;
    this.#tool = params.tool;
    this.requests = params.requests?.flatMap((call) => toolRequestOf(call) ?? []) ?? NO_REQUESTS;
  }

  /**
   * The audio and video that the client sends during the call, in a live run, for a tool with `inputStream`. Undefined for
   * other tools and in other runs. If the tool reads too slowly, the oldest pieces are dropped. The stream ends with the
   * call.
   */
  get inputStream(): BaseLiveRequestQueue | undefined {
    return this.invocationContext.invocation.live?.inputStream(this.functionCallId);
  }

  /**
   * Headers for requests that the tool makes, so that the service which answers them continues the trace of this call:
   * `fetch(url, { headers: { ...toolContext.traceHeaders } })`. Empty if the run is not traced.
   */
  get traceHeaders(): TraceHeaders {
    return this.operation?.traceHeaders() ?? {};
  }

  /**
   * Reports progress in a partial event `tool.response`, which is streamed at once and not stored. Resolves to true
   * when the reader of the run took the event, and to false if the run has no reader any more. Never rejects. A tool need
   * not await it, as long as at most 1,000 events of the tools that run at the same time are waiting.
   * @throws InvalidEventError synchronously, for a value that is not JSON
   * @throws ConfigurationError if 1,000 events wait to be read
   */
  emit(progress: unknown): Promise<boolean> {
    const output = toJson('emit', progress);
    return this.#listener ? this.#listener.progress(output, this.responseScheduling) : Promise.resolve(true);
  }

  /**
   * Tells the model of a live run that the call is under way, so that the model does not wait for its result. Only for
   * tools with `inputStream`; for other tools and in other runs it does nothing and returns undefined. Settles once the
   * model has the message. Further calls do nothing. Function tools call it themselves, after the arguments are checked and
   * the call is confirmed.
   * @internal
   */
  began(): Promise<void> | undefined {
    return this.#listener?.began?.();
  }

  /**
   * Yields a whole event from the run while the tool runs. Resolves once the event is committed and the reader of the run
   * has requested the next one.
   * @throws RunAbortedError if the run has no reader any more
   */
  async emitEvent(event: Event): Promise<void> {
    const taken = await (this.#listener?.event(event) ?? true);
    if (!taken) throw new RunAbortedError('the tool call has ended, so its events are no longer read');
  }

  /** True if the call runs again after it was interrupted or paused, so that agents that it runs may wait. @internal */
  get canContinue(): boolean {
    return !this.hasReturned && (this.#tool === undefined || continuesCalls(this.#tool));
  }

  /** True once `pause` was called: the call has no response yet. @internal */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * Pauses a resumable run until an answer comes in a later message. The tool's return value is ignored, and the tool is
   * called again when the run is resumed. For tools that continue an interrupted call (`resumesCalls`).
   * @internal
   */
  pause(): void {
    this.#isPaused = true;
  }

  override getAuthResponse({ credentialKey }: Pick<AuthConfig, 'credentialKey'>): AuthCredential | undefined {
    const credential = this.#given?.get(credentialKey);
    return credential && structuredClone(credential);
  }

  /** Loads the credentials that were given for requests of this call, for `getAuthResponse`. For code that runs tools. @internal */
  async loadGivenCredentials(): Promise<void> {
    const keys = this.#requestCalls.flatMap((call) => credentialKeyOf(call) ?? []);
    if (keys.length === 0) return;
    const given = new Map<string, AuthCredential>();
    for (const credentialKey of keys) {
      const credential = await this.loadCredential({ credentialKey });
      if (credential) given.set(credentialKey, credential);
    }
    this.#given = given;
  }

  /**
   * Asks a person for input. The tool then returns and the run pauses. After the answer the tool is run again from its
   * beginning, and `getInput` returns the answer. A call may make several requests, at once or one after the other, each
   * with its own `key`; the tool is run again after all of them are answered.
   *
   * @throws ConfigurationError for a schema that JSON Schema cannot express, for a value that is not JSON, and outside a
   * tool call
   *
   * @example
   * const order = new FunctionTool({
   *   name: 'order_shirt',
   *   description: 'Orders a shirt.',
   *   execute: (_args, toolContext) => {
   *     const size = toolContext.getInput('size');
   *     if (size === undefined) return toolContext.requestInput({ key: 'size', message: 'Which size?' });
   *     return { ordered: size };
   *   },
   * });
   */
  requestInput(request: InputRequestParams = {}): void {
    const input = toInputRequest('requestInput', request);
    const callId = this.callId('requestInput');
    const requested = (this.actions.requestedInputs ??= {});
    const others = (getOwn(requested, callId) ?? []).filter(({ key }) => key !== input.key);
    setOwn(requested, callId, [...others, input]);
  }

  /**
   * Returns the answer to the request for input that this call made with `key`, checked against its schema. Undefined if
   * it is not answered.
   * @param key the `key` of that request. Default: that of a request without one
   * @throws ConfigurationError for a key that is not text
   */
  getInput(key = ''): unknown {
    if (typeof key !== 'string')
      throw new ConfigurationError(`getInput: expected a key, got ${describeKind(key)}; write getInput('size')`);
    return this.#inputs?.get(key);
  }
}

/** Returns the key of the credential that a call requests; undefined for other calls. */
function credentialKeyOf({ name, args }: FunctionCall): string | undefined {
  if (name !== REQUEST_CREDENTIAL) return undefined;
  const { authConfig } = args ?? {};
  const key = isRecord(authConfig) ? authConfig['credentialKey'] : undefined;
  return typeof key === 'string' ? key : undefined;
}
