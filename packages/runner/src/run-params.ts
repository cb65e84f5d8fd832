import { RUN_CONFIG_OPTIONS } from '@eventloom/core/internal';
import {
  ConfigurationError,
  type Content,
  InvalidMessageError,
  InvalidRequestError,
  type RunBounds,
  type RunConfig,
} from '@eventloom/core';
import { checkKnown, checkRunConfig, copyJson, isRecord, type OptionNames } from '@eventloom/core/internal';

/** Behaviour for a request that is known: see `RunAsyncParams.ifKnown`. */
export type IfKnown = 'follow' | 'resume' | 'reject';

const IF_KNOWN: readonly unknown[] = ['follow', 'resume', 'reject'] satisfies IfKnown[];

/** Parameters of one run. */
export interface RunAsyncParams {
  /** The runner's own, for those who hand in a whole session key; another one is refused. */
  readonly appName?: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  /**
   * The message of the user. May be absent if `invocationId` is given; otherwise, with an `invocationId`, it may
   * contain only answers to calls of that run.
   */
  readonly newMessage?: Content | undefined;
  /**
   * Resumes this run of the session: one that is resumable, and whose process was lost or that waits for an answer. Its request id,
   * metadata, `streamingMode`, `completionEvent`, `maxLlmCalls`, `maxParallelToolCalls` and `clientTools` are those it began with unless
   * others are given; all else of `runConfig` is not remembered.
   */
  readonly invocationId?: string | undefined;
  /**
   * The caller's own id for its request, put on every event, over `runConfig.requestId`: the same id in a session is the same run, in any
   * process. At most 256 bytes.
   */
  readonly requestId?: string | undefined;
  /**
   * Behaviour if this `requestId` was sent before and its message is stored; no message is run twice. `follow`
   * (default) yields the stored events of its run behind the message, and waits for the end of the run; a run that its
   * process left is resumed meanwhile. `resume` does the same, except that this stream itself resumes a run that was
   * left, with the options given here, so that its chunks are streamed too. `reject` throws RequestKnownError. Another
   * message with the same id is always refused with RequestReusedError; messages that a plugin replaced, credentials,
   * and files that are saved as artifacts are not compared.
   */
  readonly ifKnown?: IfKnown | undefined;
  /** With `invocationId`: the stream begins with what is stored of the run, so that it tells all of it. Default false. */
  readonly replay?: boolean | undefined;
  /** Written to state together with the message. Keys with their scope prefix. */
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  /** Options of this run; missing ones are taken from the runner's `runConfig`. */
  readonly runConfig?: RunConfig | undefined;
  /** Applied over `runConfig`, the runner's defaults, and what a resumed run began with. */
  readonly bounds?: RunBounds | undefined;
  /** Put under `customMetadata` of every event of the run, over `runConfig.customMetadata`; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Aborts the run, which then throws RunAbortedError. The session gets the run's end: responses to its open calls and an error event with
   * the code `RUN_ABORTED`. With a ShuttingDownError as the reason a resumable run stays open instead, to be resumed later.
   */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: OptionNames<RunAsyncParams> = {
  appName: true,
  userId: true,
  sessionId: true,
  newMessage: true,
  invocationId: true,
  requestId: true,
  ifKnown: true,
  replay: true,
  stateDelta: true,
  runConfig: true,
  bounds: true,
  customMetadata: true,
  abortSignal: true,
};

const WRITE_MESSAGE = "write newMessage: { role: 'user', parts: [{ text: 'hello' }] }";
/** Hints for parameters that belong elsewhere, or that other libraries have. */
const HINTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...RUN_CONFIG_OPTIONS].map((option) => [option, `write runConfig: { ${option}: … }`])),
  streaming: "write runConfig: { streamingMode: 'sse' }",
  prompt: WRITE_MESSAGE,
  input: WRITE_MESSAGE,
  text: WRITE_MESSAGE,
  content: WRITE_MESSAGE,
  state: 'did you mean "stateDelta"?',
};

/** The types of parameters that may be absent. */
const TYPES: Readonly<Partial<Record<keyof RunAsyncParams, 'string' | 'boolean' | 'object'>>> = {
  invocationId: 'string',
  requestId: 'string',
  replay: 'boolean',
  stateDelta: 'object',
  runConfig: 'object',
  bounds: 'object',
  customMetadata: 'object',
};

/** @throws ConfigurationError for a parameter this version does not have, or one of the wrong kind */
export function checkRunParams(params: RunAsyncParams, appName: string): void {
  checkKnown('runAsync', PARAMS, params, HINTS);
  if (params.appName !== undefined && params.appName !== appName) {
    throw new ConfigurationError(
      `runAsync: appName is ${JSON.stringify(params.appName)}, and the runner has the appName "${appName}"; leave it out, or give that one`,
    );
  }
  for (const name in TYPES) {
    const type = TYPES[name as keyof RunAsyncParams];
    const value: unknown = params[name as keyof RunAsyncParams];
    if (value === undefined || (type === 'object' ? isRecord(value) : typeof value === type)) continue;
    throw new ConfigurationError(`runAsync: ${name} must be ${type === 'object' ? 'an object' : `a ${type}`}`);
  }
  const { invocationId, newMessage, stateDelta, ifKnown = 'follow' } = params;
  if (!IF_KNOWN.includes(ifKnown))
    throw new ConfigurationError(`runAsync: ifKnown must be follow, resume or reject, is ${JSON.stringify(ifKnown)}`);
  if (params.abortSignal !== undefined && typeof params.abortSignal?.aborted !== 'boolean')
    throw new ConfigurationError(
      'runAsync: abortSignal must be an AbortSignal, such as the `signal` of an AbortController',
    );
  if (newMessage === undefined && invocationId === undefined)
    throw new InvalidMessageError(
      "newMessage: is missing; write newMessage: { role: 'user', parts: [{ text: 'hello' }] }. Only a run that is resumed by its invocationId can do without",
    );
  if (newMessage === undefined && stateDelta !== undefined)
    throw new InvalidRequestError('stateDelta: is written together with newMessage, which is missing');
  if (params.runConfig?.streamingMode === 'bidi')
    throw new ConfigurationError("runAsync: streamingMode 'bidi' is for runLive");
}

const NO_CONFIG: RunConfig = {};

/**
 * The config that a run is given, checked, with copies of the client tools and of the metadata: the caller may go on changing its own.
 * @throws ConfigurationError @throws InvalidRequestError
 */
export function toGivenConfig({
  runConfig: given = NO_CONFIG,
  customMetadata,
  requestId,
}: Pick<RunAsyncParams, 'runConfig' | 'customMetadata' | 'requestId'>): RunConfig {
  checkRunConfig(given);
  let runConfig = given.clientTools ? { ...given, clientTools: structuredClone(given.clientTools) } : given;
  if (requestId !== undefined) runConfig = { ...runConfig, requestId };
  if (runConfig.requestId?.trim() === '')
    throw new InvalidRequestError('requestId: is blank; leave it out, or give the request an id of its own');
  if (customMetadata === undefined && runConfig.customMetadata === undefined) return runConfig;
  const copied = copyJson({ ...runConfig.customMetadata, ...customMetadata });
  if ('fault' in copied) throw new ConfigurationError(`customMetadata.${copied.fault.path}: ${copied.fault.reason}`);
  return { ...runConfig, customMetadata: copied.value as Record<string, unknown> };
}
