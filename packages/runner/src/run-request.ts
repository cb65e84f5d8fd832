import {
  ConfigurationError,
  type Content,
  type GetSessionConfig,
  InvalidEventError,
  InvalidMessageError,
  type LiveRun,
  type Part,
  type RunBounds,
  type RunConfig,
  type RunLiveParams,
  type RunWebhook,
  type SessionKey,
  InvalidRequestError,
  type TraceHeaders,
} from '@eventloom/core';
import {
  ABORT_SIGNAL_RULE,
  checkStateDelta,
  mergeRunConfigs,
  RUN_CONFIG_OPTIONS,
  checkOptions,
  checkRunConfig,
  copyJson,
  type OptionRules,
  describeKind,
  isBase64,
  isRecord,
  sealContent,
} from '@eventloom/core/internal';
import type { Runner } from './runner.ts';

/** Behaviour for a request that is known: see `RunAsyncParams.ifKnown`. */
export type IfKnown = 'follow' | 'resume' | 'reject';

const IF_KNOWN = ['follow', 'resume', 'reject'] satisfies IfKnown[];

/** Parameters of `runner.runAsync` and `runner.run`: one run. */
export interface RunAsyncParams {
  /** The runner's `appName`, which may be left out. It is here so that a whole `SessionKey` can be given; another name is refused. */
  readonly appName?: string | undefined;
  /** The user that the session belongs to. */
  readonly userId: string;
  /** The session that the run reads and adds to. It must exist, unless the runner has `autoCreateSession`. */
  readonly sessionId: string;
  /**
   * The message of the user: a text, a content such as `{ role: 'user', parts: [{ text: 'Hello' }, image] }`, or a content with the
   * answers to function calls, as `functionResponse` parts. May be absent only if `invocationId` is given; beside an
   * `invocationId` it may hold only answers to calls of that run.
   */
  readonly newMessage?: Content | string | undefined;
  /**
   * Resumes this run of the session in place of starting one. The run must have been started as `resumable`, and must
   * not have ended: its process was lost, or it waits for an answer. `streamingMode`, `completionEvent`, `maxLlmCalls`,
   * `maxRunMs`, `maxParallelToolCalls`, `clientTools`, `pauseOnToolCalls`, `requestId` and `customMetadata` are those
   * it began with, unless others are given. Other options of `runConfig` are not remembered: give them again. A run
   * that the session does not have throws RunNotFoundError.
   */
  readonly invocationId?: string | undefined;
  /**
   * The caller's own id for this request, of at most 256 bytes; it appears in every event. A request that is sent again under the same id
   * in the same session does not run again, in whichever process: see `ifKnown`. Default: a repeated request is a new one.
   */
  readonly requestId?: string | undefined;
  /**
   * Behaviour if `requestId` was sent before. The message does not run twice in any case.
   *
   * - `follow` (default): yields the stored events of that run that come after its message, and waits for its end.
   * - `resume`: as `follow`, but if the process of that run was lost, this call itself continues the run, and yields chunks as well.
   * - `reject`: throws RequestKnownError, which has the `invocationId` of that run.
   *
   * A known id with a different `newMessage`, `stateDelta` or `invocationId` throws RequestReusedError. Other parameters may differ. A
   * request that was cancelled before its run began (`BaseSessionService.cancelRequest`) throws RunAbortedError.
   */
  readonly ifKnown?: IfKnown | undefined;
  /**
   * For a resumed run (`invocationId`): true yields the events that the run stored before it was interrupted, too, so
   * that the reader gets the whole run. Default false: only events stored after this call.
   */
  readonly replay?: boolean | undefined;
  /** State to write together with the message: new values by key, such as `{ 'user:language': 'en' }`. Default: none. */
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  /** Options of this run; missing ones are taken from the runner's `runConfig`. */
  readonly runConfig?: RunConfig | undefined;
  /**
   * Upper bounds that `runConfig` cannot exceed, for code that passes a config on from a client: `{ maxLlmCalls: 20 }` lowers a higher
   * limit to 20. They also apply to the runner's defaults. Default: no bounds.
   */
  readonly bounds?: RunBounds | undefined;
  /** Added to `customMetadata` of every event of the run. Keys that an event sets itself win. Default: `runConfig.customMetadata`. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Stops the run, which then throws RunAbortedError: `AbortSignal.timeout(30_000)`, or the signal of an `AbortController`. Events that are
   * stored stay; calls without a response get one, and an event with the code `RUN_ABORTED` ends the run. It has the reply that was being
   * streamed, as far as it came. If the reason of the abort is a
   * ShuttingDownError, a resumable run stays open instead, to be resumed later. Default: the run is not stopped.
   */
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * Trace headers of the request that asks for the run: `{ traceparent: '00-…' }`. The runner's instrumentation continues that trace.
   * Default: the trace that is active at the call, or a new one.
   */
  readonly traceHeaders?: TraceHeaders | undefined;
  /** @internal Webhook to store with the run as it begins: its id and the URL. */
  readonly webhook?: Pick<RunWebhook, 'id' | 'url'> | undefined;
}

const PARAMS: OptionRules<RunAsyncParams> = {
  appName: 'text',
  // The session service checks both ids, with the error that it uses everywhere: InvalidRequestError.
  userId: 'any',
  sessionId: 'any',
  // Checked by `checkNewMessage`, with InvalidMessageError.
  newMessage: 'any',
  invocationId: 'text',
  requestId: { is: 'text', write: "'order-17'" },
  ifKnown: { is: 'text', oneOf: IF_KNOWN },
  replay: 'flag',
  stateDelta: { is: 'object', write: "{ 'user:language': 'en' }" },
  runConfig: { is: 'object', write: '{ maxLlmCalls: 50 }' },
  bounds: { is: 'object', write: '{ maxLlmCalls: 20 }' },
  customMetadata: { is: 'object', write: "{ plan: 'free' }" },
  abortSignal: ABORT_SIGNAL_RULE,
  traceHeaders: { is: 'object', write: '{ traceparent }' },
  webhook: 'object',
};

const WRITE_MESSAGE = "write newMessage: 'hello'";
const STREAM = "write runConfig: { streamingMode: 'sse' }";
/** Hints for names that other libraries use for these parameters, and for options of other functions. */
const HINTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...RUN_CONFIG_OPTIONS].map((option) => [option, `write runConfig: { ${option}: … }`])),
  stream: STREAM,
  streaming: STREAM,
  prompt: WRITE_MESSAGE,
  input: WRITE_MESSAGE,
  text: WRITE_MESSAGE,
  content: WRITE_MESSAGE,
  messages: WRITE_MESSAGE,
  state: 'did you mean "stateDelta"?',
};

/** Checks the parameters of `runAsync`. @throws ConfigurationError for an unknown parameter, or one of the wrong kind */
function checkRunParams(params: RunAsyncParams, appName: string): void {
  checkOptions('runAsync', PARAMS, params, HINTS, 'runAsync({ userId, sessionId, newMessage })');
  if (params.appName !== undefined && params.appName !== appName) {
    throw new ConfigurationError(
      `runAsync: appName is ${JSON.stringify(params.appName)}, but the runner has the appName "${appName}"; remove it, or write that name`,
    );
  }
  const { newMessage, stateDelta } = params;
  if (newMessage === undefined && stateDelta !== undefined)
    throw new InvalidRequestError('stateDelta: needs a newMessage; write one');
  if (params.runConfig?.streamingMode === 'bidi')
    throw new ConfigurationError(
      "runAsync: streamingMode 'bidi' is for runLive; write streamingMode: 'sse', or call runLive",
    );
}

const NO_CONFIG: RunConfig = {};

/**
 * Returns the checked config of a run, with copies of the client tools and of the metadata, which the caller may change
 * later.
 *
 * @throws ConfigurationError
 * @throws InvalidRequestError
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
    throw new InvalidRequestError('requestId: is blank; remove it, or write an id for the request');
  if (customMetadata === undefined && runConfig.customMetadata === undefined) return runConfig;
  const copied = copyJson({ ...runConfig.customMetadata, ...customMetadata });
  if ('fault' in copied) throw new ConfigurationError(`customMetadata.${copied.fault.path}: ${copied.fault.reason}`);
  return { ...runConfig, customMetadata: copied.value as Record<string, unknown> };
}

/** The method that starts a run, with its parameters as the caller gave them. */
export type RunInput =
  | { readonly method: 'runAsync'; readonly params: RunAsyncParams }
  | { readonly method: 'runLive'; readonly params: RunLiveParams };

/** The start of a run. `startKindOf` decides its kind. */
export type RunStart =
  /** A message with text or files starts a new run. */
  | { readonly kind: 'message'; readonly message: Content }
  /**
   * Responses to calls continue the run that made the calls if it can continue, and otherwise start a run of the agent
   * that made them.
   */
  | { readonly kind: 'answers'; readonly message: Content }
  /** The caller names a run to resume, optionally with responses to its calls. */
  | { readonly kind: 'resume'; readonly message: Content | undefined; readonly invocationId: string }
  /** A client opens a live conversation with the agent. */
  | { readonly kind: 'live'; readonly message: undefined; readonly live: LiveRun };

/** A requested run, checked as far as possible without its session. */
export interface RunRequest {
  readonly start: RunStart;
  /** The ids of the calls that the message answers. */
  readonly callIds: readonly string[];
  readonly key: SessionKey;
  /** The options that the caller gave. */
  readonly given: RunConfig;
  /** The runner's defaults, overridden by the caller's options, within `bounds`. */
  readonly config: RunConfig;
  readonly bounds: RunBounds | undefined;
  /**
   * The window of the session's events that the run reads; undefined for all effective events. A run that answers calls or resumes
   * needs the events of these calls, however old they are.
   */
  readonly window: GetSessionConfig | undefined;
  /** State changes that are stored together with the message. */
  readonly stateDelta: Readonly<Record<string, unknown>>;
  /** True if the stream of a resumed run begins with its stored events. */
  readonly replay: boolean;
  readonly ifKnown: IfKnown;
  /** The webhook that is stored as the run begins. */
  readonly webhook: RunAsyncParams['webhook'];
  /** The trace that the run continues. */
  readonly traceHeaders: TraceHeaders | undefined;
}

/** Parses the parameters of a run. @throws ConfigurationError, InvalidMessageError, InvalidRequestError, StateKeyError, StateValueError */
export function parseRunRequest(runner: Runner, input: RunInput): RunRequest {
  if (input.method === 'runLive') return parseLive(runner, input.params);
  const { params } = input;
  checkRunParams(params, runner.appName);
  const { userId, sessionId, invocationId, bounds, stateDelta, replay = false, ifKnown = 'follow' } = params;
  const { newMessage } = params;
  const message = newMessage || newMessage === '' ? checkNewMessage(newMessage) : undefined;
  const callIds = message ? answeredCallIds(message) : NO_IDS;
  const kind = startKindOf(params);
  let start: RunStart;
  if (message && kind !== 'resume') {
    start = { kind, message };
  } else if (invocationId !== undefined) {
    if (message && callIds.length === 0)
      throw new InvalidMessageError(
        'newMessage: has no answers to calls, but a run that invocationId names accepts only answers; remove invocationId to start a new run',
      );
    start = { kind: 'resume', message, invocationId };
  } else {
    throw new InvalidMessageError(`newMessage: is missing; ${WRITE_MESSAGE}, or the invocationId of a run to resume`);
  }
  const given = toGivenConfig(params);
  if (params.ifKnown !== undefined && given.requestId === undefined)
    throw new InvalidRequestError('ifKnown: needs a requestId; write requestId');
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
    webhook: params.webhook,
    traceHeaders: params.traceHeaders,
  };
}

/**
 * Decides how `runAsync` starts a run, from its parameters alone. They may be unchecked: a server lists a run by the kind of
 * its start before the run takes its first step, which checks them.
 */
export function startKindOf(params: RunAsyncParams | undefined): 'message' | 'answers' | 'resume' {
  if (params?.invocationId !== undefined) return 'resume';
  const message = params?.newMessage;
  const hasParts = isRecord(message) && Array.isArray(message.parts);
  return hasParts && answeredCallIds(message).length > 0 ? 'answers' : 'message';
}

function parseLive(runner: Runner, params: RunLiveParams): RunRequest {
  const { appName } = runner;
  if (!runner.live)
    throw new ConfigurationError(
      "runLive: the runner has no live support; install @eventloom/live and write `new Runner({ ..., live: live() })` with `import { live } from '@eventloom/live'`, or use the Runner of `eventloom`",
    );
  if (!isRecord(params))
    throw new ConfigurationError(
      `runLive: expected an object of options, got ${describeKind(params)}; write runLive({ userId, sessionId, liveRequestQueue })`,
    );
  const { bounds } = params;
  const given = toGivenConfig(params);
  const { resumable: _, ...defaults } = runner.runConfig;
  const config = mergeRunConfigs(given, defaults, bounds);
  // The last check, because it claims the queue: a queue whose parameters were refused must stay usable for another run.
  const live = runner.live.claimQueue({ ...params, runConfig: config }, runner);
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
    webhook: undefined,
    traceHeaders: params.traceHeaders,
  };
}

const NO_STATE: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * Returns a checked and frozen copy of the message of a new run, with its role; its event and the model requests share
 * the copy.
 *
 * @throws InvalidMessageError if it is empty, is not JSON, has another role than `user`, has function calls, or mixes
 * function responses with other parts
 */
export function checkNewMessage(given: Content | string): Content {
  const message = typeof given === 'string' ? { parts: [{ text: given }] } : given;
  if (!isRecord(message)) failMessage(`expected a text or an object, got ${describeKind(message)}; ${EXAMPLE}`);
  if (!Array.isArray(message.parts) || message.parts.length === 0) failMessage(`has no parts; ${EXAMPLE}`);
  const { role = 'user', parts } = message;
  if (role !== 'user') failMessage(`has the role ${String(JSON.stringify(role)).slice(0, 60)}; write role: "user"`);
  let responses = 0;
  let isEmpty = true;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as Part;
    if (typeof part !== 'object' || part === null)
      failMessage(`parts[${index}]: expected an object, got ${shown(part)}; write { text: 'hello' }`);
    const fault = faultOfUserPart(part);
    if (fault !== undefined) failMessage(`parts[${index}] ${fault}`);
    if (part.functionResponse) responses++;
    if (part.text?.trim() !== '') isEmpty = false;
  }
  if (responses > 0 && responses < parts.length)
    failMessage('mixes function responses with other parts; send them in separate messages');
  if (isEmpty) failMessage('is empty: its text has only blanks');
  try {
    return sealContent(message.role === undefined ? { ...message, role } : message);
  } catch (error) {
    if (!InvalidEventError.isInstance(error)) throw error;
    return failMessage(error.message.replace('content.', ''));
  }
}

const EXAMPLE = "write 'hello', or { role: 'user', parts: [{ text: 'hello' }] }";

/** Returns a short text in quotes, and the kind of any other value. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return describeKind(value);
  return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
}

function failMessage(fault: string): never {
  throw new InvalidMessageError(`newMessage: ${fault}`);
}

/** The payloads that a user's part may have, each with a check that returns the fault. */
const PAYLOADS: Readonly<Record<string, (part: Part) => string | undefined>> = {
  text: ({ text }) => (typeof text === 'string' ? undefined : 'has a text that is not a string'),
  inlineData: ({ inlineData }) => {
    if (!isText(inlineData?.mimeType)) return 'has inlineData without a mimeType';
    if (isBytes(inlineData?.data)) return undefined;
    return "has inlineData whose data is empty or not base64; write data: bytes.toString('base64')";
  },
  fileData: ({ fileData }) => (isText(fileData?.fileUri) ? undefined : 'has fileData without a fileUri'),
  functionResponse: ({ functionResponse }) => {
    if (!isText(functionResponse?.id)) return 'is a function response without the id of its call';
    const response: unknown = functionResponse?.response ?? {};
    const isObject = typeof response === 'object' && !Array.isArray(response);
    return isObject ? undefined : 'is a function response whose response is not an object';
  },
};

/** Payloads that only models write. */
const MODEL_PAYLOADS = ['functionCall', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const;

/** Returns the fault of a part of a user's message, to follow "parts[n] "; undefined for a valid part. */
function faultOfUserPart(part: Part): string | undefined {
  let fields = 0;
  for (const _ in part) fields++;
  if (typeof part.text === 'string' && fields === 1) return undefined;
  for (const payload of MODEL_PAYLOADS) if (part[payload]) return `is a ${payload}; only models make those`;
  if (part.thought === true) return 'is a thought; only models have those';
  const given = Object.keys(PAYLOADS).filter((key) => (part[key as keyof Part] ?? undefined) !== undefined);
  const [payload] = given;
  if (payload === undefined) return `has none of ${Object.keys(PAYLOADS).join(', ')}; write { text: 'hello' }`;
  if (given.length > 1) return `has ${given.join(' and ')}; a part holds one thing`;
  return PAYLOADS[payload]?.(part);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isBytes(data: unknown): boolean {
  return typeof data === 'string' && data !== '' && isBase64(data);
}

/** The ids of the calls that a message answers; empty for a message that answers none. */
export function answeredCallIds({ parts = [] }: Content): readonly string[] {
  let ids: string[] | undefined;
  for (let index = 0; index < parts.length; index++) {
    const id = parts[index]?.functionResponse?.id;
    if (id) (ids ??= []).push(id);
  }
  return ids ?? NO_IDS;
}

const NO_IDS: readonly string[] = [];
