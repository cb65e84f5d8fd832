import {
  ConfigurationError,
  type Content,
  type GetSessionConfig,
  InvalidMessageError,
  type LiveRun,
  type RunBounds,
  type RunConfig,
  type RunLiveParams,
  type SessionKey,
  InvalidRequestError,
} from '@eventloom/core';
import {
  checkStateDelta,
  mergeRunConfigs,
  RUN_CONFIG_OPTIONS,
  checkKnown,
  checkRunConfig,
  copyJson,
  isRecord,
  type OptionNames,
} from '@eventloom/core/internal';
import { answeredCallIds, checkNewMessage } from './run-message.ts';
import type { Runner } from './runner.ts';

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
  checkKnown('runAsync', PARAMS, params, HINTS, 'runAsync({ userId, sessionId, newMessage })');
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

/** The parameters of a run, as its caller gave them. */
export type RunInput =
  | { readonly method: 'runAsync'; readonly params: RunAsyncParams }
  | { readonly method: 'runLive'; readonly params: RunLiveParams };

/** The kinds of runs, by what starts them. */
export type RunStart =
  /** The user's words, or a file: a new run. */
  | { readonly kind: 'message'; readonly message: Content }
  /** Responses to calls: they continue the run that made the calls if it is open, and otherwise start a run of the agent that made them. */
  | { readonly kind: 'answers'; readonly message: Content }
  /** A run that the caller names goes on, maybe with responses to its calls. */
  | { readonly kind: 'resume'; readonly message: Content | undefined; readonly invocationId: string }
  /** A client speaks with the agent. */
  | { readonly kind: 'live'; readonly message: undefined; readonly live: LiveRun };

/** A run that is to start, with everything checked that can be checked without its session. */
export interface RunRequest {
  readonly start: RunStart;
  /** The ids of the calls that the message answers. */
  readonly callIds: readonly string[];
  readonly key: SessionKey;
  /** The options that the caller gave. */
  readonly given: RunConfig;
  /** These over the runner's defaults, within `bounds`. */
  readonly config: RunConfig;
  readonly bounds: RunBounds | undefined;
  /**
   * The part of the session's events that the run reads; undefined for everything that counts. A run that answers calls or goes on needs
   * the events of these calls, however old they are.
   */
  readonly window: GetSessionConfig | undefined;
  /** Written together with the message. */
  readonly stateDelta: Readonly<Record<string, unknown>>;
  /** True if the stream of a resumed run begins with its stored events. */
  readonly replay: boolean;
  readonly ifKnown: IfKnown;
}

/** @throws ConfigurationError, InvalidMessageError, InvalidRequestError, StateKeyError, StateValueError */
export function parseRunRequest(runner: Runner, input: RunInput): RunRequest {
  if (input.method === 'runLive') return parseLive(runner, input.params);
  const { params } = input;
  checkRunParams(params, runner.appName);
  const { userId, sessionId, bounds, stateDelta, replay = false, ifKnown = 'follow' } = params;
  const message = params.newMessage && checkNewMessage(params.newMessage);
  const callIds = message ? answeredCallIds(message) : NO_IDS;
  const start = startOf(params.invocationId, message, callIds);
  const given = toGivenConfig(params);
  const config = mergeRunConfigs(given, runner.runConfig, bounds);
  return {
    start,
    callIds,
    key: { appName: runner.appName, userId, sessionId },
    given,
    config,
    bounds,
    window: start.kind === 'message' ? config.getSessionConfig : undefined,
    stateDelta: stateDelta ? checkStateDelta(stateDelta) : NO_STATE,
    replay,
    ifKnown,
  };
}

function startOf(invocationId: string | undefined, message: Content | undefined, callIds: readonly string[]): RunStart {
  if (invocationId === undefined) {
    if (!message) throw new InvalidMessageError('newMessage: is missing; only a run that is resumed can do without');
    return { kind: callIds.length > 0 ? 'answers' : 'message', message };
  }
  if (message && callIds.length === 0)
    throw new InvalidMessageError(
      'newMessage: has no answers to calls, and invocationId names a run to resume, which takes nothing else; leave invocationId out to start a new run',
    );
  return { kind: 'resume', message, invocationId };
}

function parseLive(runner: Runner, params: RunLiveParams): RunRequest {
  const { appName } = runner;
  if (!runner.live)
    throw new ConfigurationError(
      "runLive: the runner has no live support; install @eventloom/live and write `new Runner({ ..., live: live() })` with `import { live } from '@eventloom/live'`, or use the Runner of `eventloom`",
    );
  const { bounds } = params;
  const given = toGivenConfig(params);
  const { resumable: _, ...defaults } = runner.runConfig;
  const config = mergeRunConfigs(given, defaults, bounds);
  // The last check: the queue of a run that is refused can serve another one.
  const live = runner.live.startRun({ ...params, runConfig: config }, runner);
  const key = { appName, userId: params.userId, sessionId: params.sessionId };
  const start: RunStart = { kind: 'live', message: undefined, live };
  const window = config.getSessionConfig;
  return {
    start,
    callIds: NO_IDS,
    key,
    given,
    config,
    bounds,
    window,
    stateDelta: NO_STATE,
    replay: false,
    ifKnown: 'reject',
  };
}

const NO_STATE: Readonly<Record<string, unknown>> = Object.freeze({});
const NO_IDS: readonly string[] = [];
