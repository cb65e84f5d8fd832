import type { OpenRun } from './session/open-run.ts';

const BRAND = Symbol.for('eventloom.error');

/** Options of every Eventloom error. */
export interface EventloomErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** True when the same operation may succeed later. Default: the class's `retryable`. */
  readonly retryable?: boolean;
  /** The message for clients and sessions, where `message` quotes text that may hold secrets. Default: `message`. */
  readonly publicMessage?: string;
}

/**
 * Base of every error that Eventloom throws on purpose. Each subclass has a `code` of its own: stable, upper snake case, never reused.
 *
 * `instanceof` fails when two copies of a package are loaded; `SomeError.isInstance(value)` does not, because it compares a
 * registered symbol and the code.
 */
export abstract class EventloomError extends Error {
  /** Stable code of the class, such as `SESSION_BUSY`: the same in every version. */
  static readonly code: string = 'EVENTLOOM';
  /** Default of `retryable` for errors of this class. */
  static readonly retryable: boolean = false;
  readonly [BRAND] = true;
  /** Stable code of the error's class, such as `SESSION_BUSY`. */
  readonly code: string;
  /** True if the same operation may succeed later. */
  readonly retryable: boolean;
  readonly #publicMessage: string | undefined;

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = new.target.code;
    this.retryable = options.retryable ?? new.target.retryable;
    this.#publicMessage = options.publicMessage;
  }

  /** The message for clients and sessions. It leaves out the text of foreign errors, which may hold secrets. */
  get publicMessage(): string {
    return this.#publicMessage ?? this.message;
  }

  /**
   * True for errors of this class, including those of another loaded copy of the package. `EventloomError.isInstance`
   * is true for all classes.
   */
  static isInstance<T extends abstract new (...args: never) => EventloomError>(
    this: T & { readonly code: string },
    value: unknown,
  ): value is InstanceType<T> {
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
    return this.code === EventloomError.code || ('code' in value && value.code === this.code);
  }
}

/** Returns `thrown` if it is an Error, otherwise an Error with its text and with `thrown` as `cause`. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  let text = 'not an error';
  try {
    text = String(thrown);
  } catch {
    // The value has no text, e.g. an object without a prototype.
  }
  return new Error(text, { cause: thrown });
}

/** Returns the message of an error. Joins the messages of an AggregateError without one, which a host with several addresses causes. */
export function reasonOf(thrown: unknown): string {
  const { message, name } = toError(thrown);
  if (message === '' && thrown instanceof AggregateError) return thrown.errors.map(reasonOf).join('; ');
  return message || name;
}

// Setup and input

/** An option of an agent, a tool, a runner or a service is missing, unknown or invalid; the message says what to write instead. */
export class ConfigurationError extends EventloomError {
  static override readonly code = 'CONFIGURATION';
}

/** An argument of a method, or a field of an HTTP request, is missing or malformed; the message names it. Nothing was changed. */
export class InvalidRequestError extends EventloomError {
  static override readonly code = 'INVALID_REQUEST';
}

/** The new message of a run cannot be accepted; nothing was written. */
export class InvalidMessageError extends EventloomError {
  static override readonly code = 'INVALID_MESSAGE';
}

/** A value is not a valid event; the message names the path at fault. */
export class InvalidEventError extends EventloomError {
  static override readonly code = 'INVALID_EVENT';
  /** The path at fault, e.g. `event.content.parts[0].text`, when there is one. */
  readonly path: string | undefined;

  constructor(message: string, options: EventloomErrorOptions & { readonly path?: string } = {}) {
    super(message, options);
    this.path = options.path;
  }
}

/** The name of an artifact is empty or absolute, leaves its folder through `..`, or holds a NUL character. */
export class InvalidArtifactNameError extends EventloomError {
  static override readonly code = 'INVALID_ARTIFACT_NAME';
}

/** A state key is empty, longer than 256 bytes, holds a NUL character, or is not well-formed Unicode. */
export class StateKeyError extends EventloomError {
  static override readonly code = 'STATE_KEY';
}

/** A state value is not JSON; the message names the path at fault. */
export class StateValueError extends EventloomError {
  static override readonly code = 'STATE_VALUE';
}

/** An instruction names a state key or an artifact that does not exist and is not marked as optional. */
export class MissingStateKeyError extends EventloomError {
  static override readonly code = 'MISSING_STATE_KEY';
}

/** A toolset could not list its tools, and its `onUnavailable` is `fail`. `cause` is the error of its `getTools`. Retryable. */
export class ToolsetUnavailableError extends EventloomError {
  static override readonly code = 'TOOLSET_UNAVAILABLE';
  static override readonly retryable = true;
  /** Name of the toolset. */
  readonly toolsetName: string | undefined;

  constructor(message: string, options: EventloomErrorOptions & { readonly toolsetName?: string } = {}) {
    super(message, options);
    this.toolsetName = options.toolsetName;
  }

  /** Returns the error of a toolset whose `getTools` threw. */
  static of(toolsetName: string, cause: unknown): ToolsetUnavailableError {
    const publicMessage = `toolset "${toolsetName}": could not list its tools`;
    const message = `${publicMessage}: ${toError(cause).message}`;
    return new ToolsetUnavailableError(message, { cause, publicMessage, toolsetName });
  }
}

// Sessions and storage

/**
 * The session does not exist, or belongs to another user. Create it with `sessionService.createSession`, or give the
 * runner `autoCreateSession: true`.
 */
export class SessionNotFoundError extends EventloomError {
  static override readonly code = 'SESSION_NOT_FOUND';
}

/** A session with this id exists already; it was not changed. */
export class SessionAlreadyExistsError extends EventloomError {
  static override readonly code = 'SESSION_ALREADY_EXISTS';
}

/** Another run of the session is in progress and did not end in time: see `runConfig.onBusy` and `busyWaitMs`. Retryable. */
export class SessionBusyError extends EventloomError {
  static override readonly code = 'SESSION_BUSY';
  static override readonly retryable = true;
}

/**
 * The session has a run that was begun and has not ended, so no other run can begin. Resume the run that `run` names, or close it, then
 * try again. Nothing was changed.
 */
export class UnfinishedRunError extends EventloomError {
  static override readonly code = 'RUN_OPEN';
  /** The run that has not ended. */
  readonly run: OpenRun;

  constructor(message: string, options: EventloomErrorOptions & { readonly run: OpenRun }) {
    super(message, options);
    this.run = options.run;
  }
}

/** A run with this `requestId` was started before; `invocationId` is its id. Thrown with `ifKnown: 'reject'`. Nothing was changed. */
export class RequestKnownError extends EventloomError {
  static override readonly code = 'REQUEST_KNOWN';
  /** Id of the run that the request began. */
  readonly invocationId: string;
  /** The offset of the request's message in the run; see `RunStream.offset`. 0 for the message that began the run. */
  readonly offset: number;

  constructor(
    message: string,
    options: EventloomErrorOptions & { readonly invocationId: string; readonly offset?: number },
  ) {
    super(message, options);
    this.invocationId = options.invocationId;
    this.offset = options.offset ?? 0;
  }
}

/**
 * The request id belongs to an earlier request of the session with a different message. Nothing was changed. Send the new message
 * with a new id.
 */
export class RequestReusedError extends EventloomError {
  static override readonly code = 'REQUEST_ID_REUSED';
}

/** The session has no run of this id, or the server does not know it. Nothing was changed. */
export class RunNotFoundError extends EventloomError {
  static override readonly code = 'RUN_NOT_FOUND';
}

/**
 * The run no longer owns its session: another process took it over because this one did not renew its lock in time, or
 * the lock was released. The write changed nothing.
 */
export class StaleWriterError extends EventloomError {
  static override readonly code = 'STALE_WRITER';
}

/**
 * The storage of sessions, artifacts, memory or credentials cannot be used: it cannot be reached, its connection was
 * lost, it did not answer in time, its disk is full or its file is locked. `cause` is the driver's error. A write that
 * failed this way may have happened: repeat it with the same ids. Retryable, unless the fault does not pass by itself,
 * such as a missing permission.
 */
export class StorageError extends EventloomError {
  static override readonly code = 'STORAGE_UNAVAILABLE';
  static override readonly retryable = true;
  /** Time that the call waited for the storage before it failed, in milliseconds. A back end sets it; undefined if it does not. */
  waitedMs: number | undefined;

  /**
   * Returns the error of a driver that threw. Its `publicMessage` names only `storage`, because the driver's text may name hosts and files.
   * @param storage the storage that failed, e.g. `the session database`
   */
  static of(storage: string, cause: unknown, retryable = true): StorageError {
    const publicMessage = `${storage} is not available${retryable ? '; try again' : ''}`;
    // Not by the name of the class, because bundlers rename classes that refer to themselves.
    return new this(`${storage} is not available: ${reasonOf(cause)}`, { cause, retryable, publicMessage });
  }
}

/**
 * An event, a state, a tool's response or an artifact is larger than the back end stores; its documentation states the limit. Nothing was
 * changed, and retrying does not help. Save large data as an artifact and refer to it; keep large artifacts in a back end that takes them.
 */
export class SizeLimitError extends EventloomError {
  static override readonly code: string = 'SIZE_LIMIT';
}

// Runs

/** Code of an agent, a callback or a plugin threw an error that is not Eventloom's own; that error is the `cause`. */
export class AgentError extends EventloomError {
  static override readonly code = 'AGENT';

  /**
   * Returns an Eventloom error unchanged, and anything else as the `cause` of an AgentError, whose message names `who`
   * and quotes the thrown error. Its `publicMessage` names only `who`.
   * @param who the part that failed, e.g. `agent "helper"`
   */
  static around(thrown: unknown, who: string): EventloomError {
    if (EventloomError.isInstance(thrown)) return thrown;
    const { message, name } = toError(thrown);
    const publicMessage = `${who} failed; the reason was reported to the program that runs it`;
    return new AgentError(`${who} failed: ${message || name}`, { cause: thrown, publicMessage });
  }
}

/** The run was aborted by its signal; events that were committed stay. */
export class RunAbortedError extends EventloomError {
  static override readonly code = 'RUN_ABORTED';
  /**
   * True as the reason of a run's abort signal also cancels the calls that wait for answers, as `Runner.cancelRun` does: a later answer to
   * them is refused. Default false.
   */
  readonly cancelsCalls: boolean;

  constructor(message: string, options: EventloomErrorOptions & { readonly cancelsCalls?: boolean } = {}) {
    super(message, options);
    this.cancelsCalls = options.cancelsCalls ?? false;
  }
}

/** A failure that was read from a session. It has the code of its original class, so `isInstance` of that class is true for it. */
export class StoredError extends EventloomError {
  static override readonly code = 'STORED_ERROR';
  override readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The process is shutting down: it takes no new run, or stopped one after a commit. Retryable, in another process or later. As the
 * reason of a run's `abortSignal` it means that a resumable run will be continued later.
 */
export class ShuttingDownError extends EventloomError {
  static override readonly code = 'SHUTTING_DOWN';
  static override readonly retryable = true;
}

/**
 * The run took longer than `runConfig.maxRunMs`. It ended as a run does that fails: its calls have responses. Events
 * that were committed stay.
 */
export class RunTimeoutError extends EventloomError {
  static override readonly code = 'RUN_TIMEOUT';
}

/** The run needs more model calls than `runConfig.maxLlmCalls` allows. */
export class LlmCallLimitError extends EventloomError {
  static override readonly code = 'LLM_CALL_LIMIT';
}

/** Agents transferred to each other more than `runConfig.maxLlmCalls` times without a model call in between. */
export class HandOverLimitError extends EventloomError {
  static override readonly code = 'HAND_OVER_LIMIT';
}

/** The model's answer does not match `outputSchema`, even after the model was shown the errors. */
export class OutputSchemaError extends EventloomError {
  static override readonly code = 'OUTPUT_SCHEMA';
}

/** A call of a tool took longer than the `timeoutMs` of the tool. The model gets the message. The call may have had its effect or not. */
export class ToolTimeoutError extends EventloomError {
  static override readonly code = 'TOOL_TIMEOUT';
}

// Models

/** Options of a ModelError: the details that the model's service reports of a failed call. */
export interface ModelErrorOptions extends EventloomErrorOptions {
  /** The service's own code, e.g. `RESOURCE_EXHAUSTED`; becomes `errorCode` of the error event. */
  readonly errorCode: string;
  /** HTTP status of the answer; absent if there was no answer. */
  readonly status?: number;
  /** Time that the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * A model call failed, in the model's service or on the way to it. The message names the model and quotes the service, whose code is in
 * `errorCode`. Retryable for 408, 429, 5xx and a lost connection.
 */
export class ModelError extends EventloomError {
  static override readonly code = 'MODEL';
  /** The code of the model's service, such as `RESOURCE_EXHAUSTED`. */
  readonly errorCode: string;
  /** HTTP status of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** Time that the service asked to wait, in milliseconds; undefined if it named none. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ModelErrorOptions) {
    super(message, options);
    this.errorCode = options.errorCode;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Returns the error code for clients: in the error event, in the HTTP response and in the record of the run. It is the service's own
 * code for the failure of a model, otherwise the code of the error's class.
 */
export function errorCodeOf(error: EventloomError): string {
  const ofService = ModelError.isInstance(error) || LiveConnectionError.isInstance(error) ? error.errorCode : undefined;
  return ofService || error.code;
}

/** Options of a LiveConnectionError: the details known of the connection that ended. */
export interface LiveConnectionErrorOptions extends EventloomErrorOptions {
  /**
   * Close code of the WebSocket, if there was one: 1006 for a network failure, 1007 and 1008 for a refused setup, 1011 for a failed
   * service.
   */
  readonly closeCode?: number | undefined;
  /** True when another attempt may succeed; false for a setup that the service refuses. */
  readonly isRetryable: boolean;
  /**
   * True when the service refused only `sessionResumption.handle`, because it does not know the handle (any more): a connection
   * without one may succeed. Default false.
   */
  readonly isHandleRefused?: boolean | undefined;
  /**
   * The service's own code for a temporary failure, e.g. `RESOURCE_EXHAUSTED`; becomes `errorCode` of the error event. Default: none,
   * and the event has `LIVE_CONNECTION`.
   */
  readonly errorCode?: string | undefined;
}

/** A live connection to a model could not be made, or ended before it was closed. The message is the service's own, if it gave one. */
export class LiveConnectionError extends EventloomError {
  static override readonly code = 'LIVE_CONNECTION';
  /** Close code of the WebSocket; undefined if there was none. */
  readonly closeCode: number | undefined;
  /** True if another attempt may succeed. */
  readonly isRetryable: boolean;
  /** True if the service refused only `sessionResumption.handle`. */
  readonly isHandleRefused: boolean;
  /** The service's own code for a temporary failure; undefined if it gave none. */
  readonly errorCode: string | undefined;

  constructor(message: string, options: LiveConnectionErrorOptions) {
    super(message, options);
    this.closeCode = options.closeCode;
    this.isRetryable = options.isRetryable;
    this.isHandleRefused = options.isHandleRefused ?? false;
    this.errorCode = options.errorCode;
  }
}

/**
 * The live request queue is full and did not take the item. Wait for `queue.ready()` and send again, or drop data that is outdated
 * by then.
 */
export class LiveQueueFullError extends EventloomError {
  static override readonly code = 'LIVE_QUEUE_FULL';
}
