import type { AuthConfig, AuthCredential } from '../credential/auth-config.ts';
import type { BaseCredentialService } from '../credential/credential-service.ts';
import type { FunctionCall } from '../content/content.ts';
import { copyJson } from '../content/copy-json.ts';
import { getOwn, type JsonValue, setOwn } from '../content/json.ts';
import { ConfigurationError, InvalidEventError, RunAbortedError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { ToolConfirmation } from '../event/event-actions.ts';
import type { BaseLiveRequestQueue } from '../live/live-request-queue.ts';
import type { ResponseScheduling } from '../tool/base-tool.ts';
import { type InputRequestParams, toInputRequest, type ToolRequest, toolRequestOf } from '../tool/input-request.ts';
import { CallbackContext, type CallbackContextParams } from './callback-context.ts';

/**
 * Receives what a tool emits while it runs. Both methods resolve to true once the event was read, and to false if
 * nobody reads it any more.
 */
export interface ToolListener {
  progress(output: JsonValue, scheduling: ResponseScheduling | undefined): Promise<boolean>;
  event(event: Event): Promise<boolean>;
  /** The tool begins to listen to the client. Settles when the model is told; undefined where that is not told. */
  began?(): Promise<void> | undefined;
}

/** Parameters of a tool context. */
export interface ToolContextParams extends CallbackContextParams {
  readonly functionCallId: string;
  /** Without one, nobody is told how a tool gets on. */
  readonly listener?: ToolListener | undefined;
  /** The answer of the person who was asked to confirm this call. */
  readonly toolConfirmation?: ToolConfirmation | undefined;
  /** Answers to the tool's requests for input, by the key of the question. */
  readonly inputs?: ReadonlyMap<string, unknown> | undefined;
  /** The calls by which people were asked about this call, oldest first. */
  readonly asked?: readonly FunctionCall[] | undefined;
}

const NO_REQUESTS: readonly ToolRequest[] = [];

/** The context of a tool, one for each call. */
export class ToolContext extends CallbackContext {
  /** The id of the function call: tells two calls of one reply apart, and names the call when a result comes later. */
  readonly functionCallId: string;
  /**
   * The answer of the person who was asked to confirm this call; undefined if nobody was asked. Rejected calls are not
   * run.
   */
  readonly toolConfirmation: ToolConfirmation | undefined;
  /**
   * Output of a streaming tool before it failed, merged like its result. A tool may set it before it throws: the model
   * gets it together with the error.
   */
  partialOutput: unknown = undefined;
  /**
   * Tells the model of a live run how to take the events and the result from here on; initially as the tool says. Only
   * for calls that let the model continue to speak (`nonBlocking`).
   */
  responseScheduling: ResponseScheduling | undefined = undefined;
  /**
   * The requests that this call made when it was run before, oldest first, as they were stored: empty when it is run for the first time.
   * A tool reads here which payload it asked a person to confirm.
   */
  readonly requests: readonly ToolRequest[];
  readonly #listener: ToolListener | undefined;
  readonly #inputs: ReadonlyMap<string, unknown> | undefined;
  #isPaused = false;

  constructor(params: ToolContextParams) {
    super(params);
    this.functionCallId = params.functionCallId;
    this.toolConfirmation = params.toolConfirmation;
    this.#listener = params.listener;
    this.#inputs = params.inputs;
    this.requests = params.asked?.flatMap((call) => toolRequestOf(call) ?? []) ?? NO_REQUESTS;
  }

  /**
   * The audio and video that the client sends in a live run while the tool runs, for a tool with `inputStream`. Undefined for other tools
   * and in other runs. A tool that reads too slowly misses the oldest pieces. Ends with the call.
   */
  get inputStream(): BaseLiveRequestQueue | undefined {
    return this.invocationContext.invocation.live?.inputStream(this.functionCallId);
  }

  /**
   * Reports progress in a partial event `tool.response`, which is streamed at once and not stored. Resolves to true
   * when the reader of the run took the event, and to false if nobody reads the run any more; never rejects. A tool
   * need not wait for it, as long as no more than 1,000 events of it and the tools beside it are waiting.
   * @throws InvalidEventError at the call, for a value that is not JSON @throws ConfigurationError if 1,000 events wait
   * to be read
   */
  emit(progress: unknown): Promise<boolean> {
    const output = toJson('emit', progress);
    return this.#listener ? this.#listener.progress(output, this.responseScheduling) : Promise.resolve(true);
  }

  /**
   * Says that the call is under way: the model of a live run is told so and does not wait for it, where the tool listens to the client
   * (`inputStream`). Function tools say it themselves, when the arguments are checked and nobody has to confirm the call any more. Settles
   * when it is told; undefined, and of no effect, for other tools and in other runs. Told once.
   */
  began(): Promise<void> | undefined {
    return this.#listener?.began?.();
  }

  /**
   * Passes a whole event on while the tool runs. Resolves when the event was committed and its reader asked for the next.
   * @throws RunAbortedError when nobody listens any more
   */
  async emitEvent(event: Event): Promise<void> {
    const taken = await (this.#listener?.event(event) ?? true);
    if (!taken) throw new RunAbortedError('the tool call has ended: its events are not read any more');
  }

  /** True when the call has no response yet, because what it runs waits. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * Pauses a resumable run until an answer comes in a later message. The call has no response yet, whatever the tool returns; when the
   * run is resumed, the tool is called again. For tools that continue an interrupted call (`resumesCalls`).
   */
  pause(): void {
    this.#isPaused = true;
  }

  /**
   * Asks a person to confirm this call. The tool returns what it likes the model to be told meanwhile (nothing: that it waits), the
   * run pauses, and with the answer the tool is run again, `toolConfirmation` set; when they reject it, it is not.
   * @throws InvalidEventError for a payload that is not JSON @throws ConfigurationError outside of a call
   */
  requestConfirmation({ hint, payload }: { readonly hint?: string; readonly payload?: unknown } = {}): void {
    const confirmation: ToolConfirmation = { hint: hint ?? '', confirmed: false };
    if (payload !== undefined) confirmation.payload = toJson('requestConfirmation: payload', payload);
    setOwn((this.actions.requestedToolConfirmations ??= {}), this.#callId('requestConfirmation'), confirmation);
  }

  /**
   * Asks a person for input. As with a confirmation the tool returns, the run pauses, and with the answer the tool is run again from
   * its beginning, where `getInput` has it. A call may ask for several things, each under a key of its own, at once or one after the
   * other; it is run again when all are answered.
   * @throws ConfigurationError for a schema that JSON Schema cannot say, for what is not JSON, and outside of a call
   */
  requestInput(request: InputRequestParams = {}): void {
    const asked = toInputRequest('requestInput', request);
    const callId = this.#callId('requestInput');
    const requested = (this.actions.requestedInputs ??= {});
    const others = (getOwn(requested, callId) ?? []).filter(({ key }) => key !== asked.key);
    setOwn(requested, callId, [...others, asked]);
  }

  /**
   * Returns the answer to this call's request for input with this key, checked by its schema; undefined if there is
   * none.
   */
  getInput(key = ''): unknown {
    return this.#inputs?.get(key);
  }

  /**
   * Asks the client for a credential. As with a confirmation the run pauses, and with the answer the tool is run again. What is
   * secret in the config stays here, and what the client sends goes to the credential service and into no event.
   * @throws ConfigurationError without a credential service, for a config without a scheme, and outside of a call
   * @throws InvalidRequestError for a key that cannot be one
   */
  requestCredential(authConfig: AuthConfig): void {
    const asked = this.#credentials('requestCredential').describe(authConfig);
    setOwn((this.actions.requestedAuthConfigs ??= {}), this.#callId('requestCredential'), asked);
  }

  /**
   * The credential that this user has under the config's key; undefined when there is none.
   * @throws ConfigurationError without a credential service
   */
  async getAuthResponse({ credentialKey }: Pick<AuthConfig, 'credentialKey'>): Promise<AuthCredential | undefined> {
    const { appName, userId } = this;
    return this.#credentials('getAuthResponse').loadCredential({ appName, userId, credentialKey });
  }

  /**
   * Keeps a credential for this user under the config's key: what an authorisation code was exchanged for, say.
   * @throws ConfigurationError without a credential service
   */
  async saveCredential(
    { credentialKey }: Pick<AuthConfig, 'credentialKey'>,
    credential: AuthCredential,
  ): Promise<void> {
    const { appName, userId } = this;
    await this.#credentials('saveCredential').saveCredential({ appName, userId, credentialKey, credential });
  }

  #credentials(caller: string): BaseCredentialService {
    const service = this.invocationContext.invocation.credentialService;
    if (!service)
      throw new ConfigurationError(
        `${caller}: the runner has no credentialService; write credentialService: new InMemoryCredentialService() in its options`,
      );
    return service;
  }

  #callId(caller: string): string {
    if (this.functionCallId === '') throw new ConfigurationError(`${caller}: can be used only while a tool call runs`);
    return this.functionCallId;
  }
}

function toJson(caller: string, value: unknown): JsonValue {
  const copied = copyJson(value, { toJson: true });
  if ('value' in copied) return copied.value;
  const { path, reason } = copied.fault;
  throw new InvalidEventError(`${caller}: the value${path === '' ? '' : ` at ${path}`} ${reason}; events are JSON`, {
    path,
  });
}
