import { describeKind } from '../content/json.ts';
import { isPlainObject } from '../content/copy-json.ts';
import { ConfigurationError } from '../errors.ts';
import { checkLiveRunConfig, LIVE_CHECKS, type LiveRunConfig } from '../live/live-run-config.ts';
import type { OnBusy } from '../session/session-lease.ts';
import type { GetSessionConfig } from '../session/session-service.ts';
import type { FunctionDeclaration } from '../content/content.ts';
import { checkClientTools } from '../tool/client-tools.ts';
import { checkOptions, type Checks, integer, number, ofType, oneOf, record } from './options.ts';

/**
 * Streaming of model replies: whole replies only (`none`), or chunks as well (`sse`). Live runs are always `bidi`, and
 * no other run can be.
 */
export const StreamingMode = { NONE: 'none', SSE: 'sse', BIDI: 'bidi' } as const;
export type StreamingMode = (typeof StreamingMode)[keyof typeof StreamingMode];

/** The treatment of an unfinished run when the next message comes: see `RunConfig.onOpenRun`. */
export type OnOpenRun = 'finish' | 'close' | 'reject';

/** Options of one run. */
export interface RunConfig extends LiveRunConfig {
  /** Default `none`: only whole events are yielded. */
  readonly streamingMode?: StreamingMode | undefined;
  /**
   * Model calls allowed in this run, exactly, and hand-overs in a row without one. Default 500; 0 and below mean no limit.
   */
  readonly maxLlmCalls?: number | undefined;
  /** Behaviour when the session is busy. Default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** Time that `queue` waits for the session, in milliseconds; default 60,000, at most a day. */
  readonly busyWaitMs?: number | undefined;
  /**
   * Decides what happens to an unfinished run of the session, one whose process was lost. `finish` (default) resumes that run to its end
   * first, without yielding its events; a run that cannot be resumed is closed with the code `RUN_ABANDONED`. `close` closes the run
   * without resuming it. `reject` throws UnfinishedRunError. With `onBusy: 'interrupt'` the run is always closed.
   */
  readonly onOpenRun?: OnOpenRun | undefined;
  /** Tool calls of one model reply that run at the same time. Default 16. */
  readonly maxParallelToolCalls?: number | undefined;
  /** Saves the user's inline data as artifacts and leaves a text in its place. Default false. */
  readonly saveInputBlobsAsArtifacts?: boolean | undefined;
  /** Put under `customMetadata` of every event of the run; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Selects the events of the session that the run reads. Default: all of them. */
  readonly getSessionConfig?: GetSessionConfig | undefined;
  /** Ends the stream with a `runner.completion` event. Default false. */
  readonly completionEvent?: boolean | undefined;
  /** The caller's own id for this request, put on every event. */
  readonly requestId?: string | undefined;
  /**
   * Agents store how far they come, in events of their own (`actions.agentState`, `actions.endOfAgent`), so that the run can be
   * resumed when its process was lost. An agent that waits for an answer then pauses those that run it. Default: the runner's.
   */
  readonly resumable?: boolean | undefined;
  /**
   * Functions that the client runs, at most 128 with 256 KiB of JSON. The LLM agents of the run offer them to their models beside their own
   * tools; agents that are called as tools, and agents in graphs, do not. A call to one is a long-running call: its id is in
   * `longRunningToolIds`, the run ends (a resumable run pauses), and the client's next message has the function response. They are
   * declared for one run: a later run has them only if they are given again, a run that is resumed has those it began with unless
   * others are given. The run fails with a ConfigurationError when an agent has a tool with the name of one.
   */
  readonly clientTools?: readonly FunctionDeclaration[] | undefined;
}

/**
 * Options that can be set once for many runs: by a runner (`new Runner({ runConfig })`) or a server (`createServer({
 * runConfig })`). Leaves out the options that identify one request.
 */
export type RunConfigDefaults = Omit<RunConfig, 'requestId'>;

/** Upper bounds of a run's config, for those who let others decide about it. A bound is an integer of at least 1. */
export interface RunBounds {
  /** A run with a higher `maxLlmCalls`, or without a limit, gets this one. */
  readonly maxLlmCalls?: number | undefined;
  readonly maxParallelToolCalls?: number | undefined;
  /** Attempts at an unfinished run that a message finishes first; after as many it is closed. Default 3. */
  readonly maxRunAttempts?: number | undefined;
}

/** Attempts at a run, the first one included, after which it is not resumed any more. */
export const MAX_RUN_ATTEMPTS = 3;

/** The defaults of what is not given. */
export const RUN_CONFIG_DEFAULTS = {
  streamingMode: StreamingMode.NONE,
  maxLlmCalls: 500,
  onBusy: 'queue',
  onOpenRun: 'finish',
  busyWaitMs: 60_000,
  maxParallelToolCalls: 16,
} as const satisfies RunConfig;

const DAY_MS = 86_400_000;

const CHECKS: Checks<Omit<RunConfig, keyof LiveRunConfig>> = {
  streamingMode: oneOf('none', 'sse', 'bidi'),
  maxLlmCalls: integer(Number.NEGATIVE_INFINITY),
  onBusy: oneOf('queue', 'reject', 'interrupt'),
  busyWaitMs: integer(0, DAY_MS),
  onOpenRun: oneOf('finish', 'close', 'reject'),
  maxParallelToolCalls: integer(1),
  saveInputBlobsAsArtifacts: ofType('boolean'),
  customMetadata: record,
  getSessionConfig: record,
  completionEvent: ofType('boolean'),
  requestId: ofType('string'),
  resumable: ofType('boolean'),
  // Checked by checkClientTools.
  clientTools: () => undefined,
  // Checked when a live run starts: see `checkLiveRunConfig`.
  ...Object.fromEntries(Object.keys(LIVE_CHECKS).map((option) => [option, () => undefined])),
};

/** The names of all options of a run config. */
export const RUN_CONFIG_OPTIONS: ReadonlySet<string> = /* @__PURE__ */ new Set(Object.keys(CHECKS));

const BOUND_CHECKS: Checks<RunBounds> = {
  maxLlmCalls: integer(1),
  maxParallelToolCalls: integer(1),
  maxRunAttempts: integer(1),
};

const SESSION_CHECKS: Checks<GetSessionConfig> = {
  numRecentEvents: integer(0),
  afterTimestamp: number,
  afterSeq: integer(0),
  beforeSeq: integer(0),
  sinceCompaction: ofType('boolean'),
};

/** @throws ConfigurationError for a value that makes no sense, and for an option that this version does not have. */
export function checkRunConfig(config: RunConfig): void {
  checkOptions('runConfig', CHECKS, config);
  if (config.clientTools !== undefined) checkClientTools(config.clientTools);
  if (config.getSessionConfig) checkOptions('runConfig.getSessionConfig', SESSION_CHECKS, config.getSessionConfig);
}

/** Checks what is to hold for many runs, live or not. @throws ConfigurationError */
export function checkRunConfigDefaults(config: RunConfigDefaults): void {
  if (!isPlainObject(config))
    throw new ConfigurationError(`runConfig: must be a plain object, is ${describeKind(config)}`);
  if ((config as RunConfig).requestId !== undefined)
    throw new ConfigurationError('runConfig.requestId: names one request; write it in the parameters of runAsync');
  checkRunConfig(config);
  checkLiveRunConfig(config);
}

/**
 * One config over another, within bounds: options that are undefined are taken from `under`, and of `customMetadata` each key. Without
 * anything under it and without bounds, a config is returned as it is.
 *
 * @throws ConfigurationError for a bound that is no integer of at least 1
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
  checkOptions('bounds', BOUND_CHECKS, bounds);
  const { maxLlmCalls, maxParallelToolCalls } = bounds;
  const calls = config.maxLlmCalls ?? RUN_CONFIG_DEFAULTS.maxLlmCalls;
  if (maxLlmCalls !== undefined && (calls <= 0 || calls > maxLlmCalls)) config.maxLlmCalls = maxLlmCalls;
  const parallel = config.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
  if (maxParallelToolCalls !== undefined && parallel > maxParallelToolCalls)
    config.maxParallelToolCalls = maxParallelToolCalls;
  return config;
}
