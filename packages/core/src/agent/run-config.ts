import { describeKind } from '../content/json.ts';
import { isPlainObject } from '../content/copy-json.ts';
import { ConfigurationError } from '../errors.ts';
import { checkLiveRunConfig, LIVE_OPTIONS, type LiveRunConfig } from '../live/live-run-config.ts';
import type { OnBusy } from '../session/session-lease.ts';
import type { GetSessionConfig } from '../session/session-service.ts';
import type { FunctionDeclaration } from '../content/content.ts';
import { checkClientTools } from '../tool/client-tools.ts';
import { checkOptions, integer, type OptionRules } from './options.ts';

/**
 * Values of `runConfig.streamingMode`. `NONE` yields the model's replies as whole events. `SSE` yields chunks as well, as they come: events
 * with `partial: true`, followed by one whole event. `BIDI` is the mode of live runs (`runLive`) and cannot be chosen for others.
 */
export const StreamingMode = { NONE: 'none', SSE: 'sse', BIDI: 'bidi' } as const;
export type StreamingMode = (typeof StreamingMode)[keyof typeof StreamingMode];

/** The treatment of an unfinished run when the next message comes: see `RunConfig.onOpenRun`. */
export type OnOpenRun = 'finish' | 'close' | 'reject';

/**
 * Options of one run. Undefined options have the defaults of the runner's `runConfig`, then the defaults stated here.
 *
 * @example
 * const runConfig: RunConfig = { streamingMode: StreamingMode.SSE, maxLlmCalls: 50, onBusy: 'reject' };
 */
export interface RunConfig extends LiveRunConfig {
  /** `'none'` (default) yields whole events only; `'sse'` yields the chunks of the model's replies as well. */
  readonly streamingMode?: StreamingMode | undefined;
  /**
   * Maximum number of model calls of the run, those of agents called as tools included; one more throws LlmCallLimitError. It stops agents
   * that call tools, or transfer to each other, without end. A live run counts its connections. Default 500; 0 or below means no limit.
   */
  readonly maxLlmCalls?: number | undefined;
  /**
   * Maximum time of the run in milliseconds; at most 24 days. Then the run ends with a RunTimeoutError, whatever its
   * model or its tools do: its calls get responses, and an event with the code `RUN_TIMEOUT` is stored and yielded. The
   * time begins when the run has its session: waiting for the session does not count, and neither does waiting for a
   * person, because a run that an answer continues has the whole time again. So has a run that another process resumes.
   * Applies to live runs too, which first store what was said so far. Default: no limit.
   */
  readonly maxRunMs?: number | undefined;
  /**
   * Behaviour while another run of the session is in progress: `queue` (default) waits for its end, `reject` throws
   * SessionBusyError, `interrupt` stops it. In this process the other run then stores the text so far, and its end with
   * the code `RUN_ABORTED`; one of another process, and one that needs more than a second for that, is closed with
   * `RUN_ABANDONED`.
   */
  readonly onBusy?: OnBusy | undefined;
  /** Time that `queue` waits for the session before it throws SessionBusyError, in milliseconds. Default 60,000; at most one day. */
  readonly busyWaitMs?: number | undefined;
  /**
   * Behaviour if an earlier run of the session never ended, because its process was lost. `finish` (default) first continues that run to
   * its end, and does not yield its events; a run that is not resumable is closed. `close` closes it: its session gets an error event
   * with the code `RUN_ABANDONED`. `reject` throws UnfinishedRunError. With `onBusy: 'interrupt'` the run is always closed.
   */
  readonly onOpenRun?: OnOpenRun | undefined;
  /** Maximum number of tool calls of one model reply that run at the same time. Default 16. */
  readonly maxParallelToolCalls?: number | undefined;
  /**
   * True saves inline data of the user's message as artifacts, and replaces it with a text that has the artifact's
   * name: the `displayName` of the data if an artifact can have it, otherwise `artifact_<invocation>_<index>`. Needs an
   * artifact service. Default false.
   */
  readonly saveInputBlobsAsArtifacts?: boolean | undefined;
  /** Added to `customMetadata` of every event of the run. Keys that an event sets itself win. Default: nothing. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Limits the events of the session that the run reads, such as `{ numRecentEvents: 50 }`. Default: the runner's, else all. */
  readonly getSessionConfig?: GetSessionConfig | undefined;
  /**
   * True ends the stream with one more event, of the kind `runner.completion`, which says how the run ended and is not stored. There is
   * none for a run that stays open or that another process took over. Default false.
   */
  readonly completionEvent?: boolean | undefined;
  /**
   * True announces each transfer to another agent in a streamed event `agent.transfer` with a text, which is not
   * stored. Default false: clients of the ADK would print the text as an answer.
   */
  readonly announceTransfers?: boolean | undefined;
  /** The caller's own id for this request: see `RunAsyncParams.requestId`. */
  readonly requestId?: string | undefined;
  /**
   * True makes the run resumable. Its progress is stored, so that it can continue after its process was lost; and when an agent waits for
   * a person, the whole run waits and continues with the answer. Default: the runner's `resumable`.
   */
  readonly resumable?: boolean | undefined;
  /**
   * Functions that the client runs: at most 128, with at most 262,144 characters of JSON together. The LLM agents of the run
   * offer them to their models beside their own tools; agents that are called as tools, and agents in graphs, do not. A call
   * to a client function is long-running: its id is in `longRunningToolIds`, the run ends (a resumable run pauses), and the
   * client's next message contains the function response. The declarations apply to one run: a later run needs them again,
   * and a resumed run keeps those it began with unless others are given. The run fails with a ConfigurationError if an agent
   * has a tool of the same name. Default: none.
   */
  readonly clientTools?: readonly FunctionDeclaration[] | undefined;
  /**
   * True leaves all calls to the client: no tool of an agent runs. Each call is long-running, as that of a client
   * function is: the run ends (a resumable run pauses), and the client's next message contains the function response.
   * Transfers to other agents and the call that gives an answer by a schema are not left to the client. Applies to one
   * run: the next one needs it again. Default false.
   */
  readonly pauseOnToolCalls?: boolean | undefined;
}

/**
 * Options that can be set once for many runs: by a runner (`new Runner({ runConfig })`) or a server (`createServer({
 * runConfig })`). Leaves out the options that identify one request.
 */
export type RunConfigDefaults = Omit<RunConfig, 'requestId'>;

/** Upper bounds of a run's config, for servers whose clients send the config. A bound is an integer of at least 1. Absent: no bound. */
export interface RunBounds {
  /** A run with a higher `maxLlmCalls`, or without a limit, gets this one. */
  readonly maxLlmCalls?: number | undefined;
  /** A run with a higher `maxRunMs`, or without a limit, gets this one. */
  readonly maxRunMs?: number | undefined;
  /** A run with a higher `maxParallelToolCalls` gets this one. */
  readonly maxParallelToolCalls?: number | undefined;
  /** Number of attempts at an unfinished run, the first one included, after which a new message closes it. Default 3. */
  readonly maxRunAttempts?: number | undefined;
}

/** Defaults of the options. */
export const RUN_CONFIG_DEFAULTS = {
  streamingMode: StreamingMode.NONE,
  maxLlmCalls: 500,
  onBusy: 'queue',
  onOpenRun: 'finish',
  busyWaitMs: 60_000,
  maxParallelToolCalls: 16,
} as const satisfies RunConfig;

const DAY_MS = 86_400_000;
/** Maximum of a timer's delay: a longer one would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const OPTIONS: OptionRules<Omit<RunConfig, keyof LiveRunConfig>> = {
  streamingMode: { is: 'text', oneOf: ['none', 'sse', 'bidi'], write: "'sse'" },
  maxLlmCalls: { is: 'number', isInteger: true, write: '50' },
  maxRunMs: { ...integer(1, MAX_TIMER_MS), write: '600_000' },
  onBusy: { is: 'text', oneOf: ['queue', 'reject', 'interrupt'] },
  busyWaitMs: { is: 'number', isInteger: true, min: 0, max: DAY_MS, write: '60_000' },
  onOpenRun: { is: 'text', oneOf: ['finish', 'close', 'reject'] },
  maxParallelToolCalls: integer(1),
  saveInputBlobsAsArtifacts: 'flag',
  customMetadata: 'object',
  getSessionConfig: { is: 'object', write: '{ numRecentEvents: 200 }' },
  completionEvent: 'flag',
  announceTransfers: 'flag',
  requestId: 'text',
  resumable: 'flag',
  clientTools: { is: 'list', write: '[{ name, description, parametersJsonSchema }]' },
  pauseOnToolCalls: 'flag',
  // Checked when a live run starts: see `checkLiveRunConfig`.
  ...Object.fromEntries(Object.keys(LIVE_OPTIONS).map((option) => [option, 'any'])),
};

/** The names of all options of a run config. */
export const RUN_CONFIG_OPTIONS: ReadonlySet<string> = /* @__PURE__ */ new Set(Object.keys(OPTIONS));

const BOUNDS: OptionRules<RunBounds> = {
  maxLlmCalls: integer(1),
  maxRunMs: integer(1, MAX_TIMER_MS),
  maxParallelToolCalls: integer(1),
  maxRunAttempts: integer(1),
};

const SESSION_OPTIONS: OptionRules<GetSessionConfig> = {
  numRecentEvents: integer(0),
  afterTimestamp: { is: 'number', min: -Infinity, write: 'Date.now() / 1000' },
  afterSeq: integer(0),
  beforeSeq: integer(0),
  sinceCompaction: 'flag',
};

/** Checks a run config. @throws ConfigurationError for an invalid value and for an unknown option */
export function checkRunConfig(config: RunConfig): void {
  checkOptions('runConfig', OPTIONS, config);
  if (config.clientTools !== undefined) checkClientTools(config.clientTools);
  if (config.getSessionConfig) checkOptions('runConfig.getSessionConfig', SESSION_OPTIONS, config.getSessionConfig);
}

/** Checks options that are set once for many runs, live or not. @throws ConfigurationError */
export function checkRunConfigDefaults(config: RunConfigDefaults): void {
  if (!isPlainObject(config))
    throw new ConfigurationError(
      `runConfig: expected a plain object, got ${describeKind(config)}; write runConfig: { maxLlmCalls: 50 }`,
    );
  if ((config as RunConfig).requestId !== undefined)
    throw new ConfigurationError(
      'runConfig.requestId: belongs to a single request; write it in the parameters of runAsync',
    );
  checkRunConfig(config);
  checkLiveRunConfig(config);
}

/**
 * Merges two configs and applies bounds. Options that are undefined in `over` are taken from `under`; `customMetadata` is
 * merged by key. Returns `over` itself if `under` is empty and there are no bounds.
 *
 * @throws ConfigurationError for a bound that is not an integer of at least 1
 */
export function mergeRunConfigs(over: RunConfig, under: RunConfig, bounds?: RunBounds): RunConfig {
  let isAlone = bounds === undefined;
  for (const _ in under) isAlone = false;
  if (isAlone) return over;
  const config: { -readonly [K in keyof RunConfig]: RunConfig[K] } = { ...under };
  const options: Record<string, unknown> = config;
  for (const [option, value] of Object.entries(over)) if (value !== undefined) options[option] = value;
  if (over.customMetadata && under.customMetadata)
    config.customMetadata = { ...under.customMetadata, ...over.customMetadata };
  if (!bounds) return config;
  checkOptions('bounds', BOUNDS, bounds);
  const { maxLlmCalls, maxParallelToolCalls, maxRunMs } = bounds;
  const calls = config.maxLlmCalls ?? RUN_CONFIG_DEFAULTS.maxLlmCalls;
  if (maxLlmCalls !== undefined && (calls <= 0 || calls > maxLlmCalls)) config.maxLlmCalls = maxLlmCalls;
  if (maxRunMs !== undefined && !(config.maxRunMs !== undefined && config.maxRunMs <= maxRunMs))
    config.maxRunMs = maxRunMs;
  const parallel = config.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
  if (maxParallelToolCalls !== undefined && parallel > maxParallelToolCalls)
    config.maxParallelToolCalls = maxParallelToolCalls;
  return config;
}
