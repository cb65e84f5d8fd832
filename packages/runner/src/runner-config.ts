import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BasePlugin,
  type BaseSessionService,
  ConfigurationError,
  type ContextCacheConfig,
  type GetSessionConfig,
  type Instrumentation,
  type LiveSupport,
  type ModelResolver,
  type Platform,
  type RunConfigDefaults,
} from '@eventloom/core';
import {
  checkContextCacheConfig,
  checkKnown,
  checkRunConfig,
  checkRunConfigDefaults,
  type OptionNames,
  describeKind,
  isBaseAgent,
} from '@eventloom/core/internal';
import { type EventsCompactionConfig, isBaseEventsSummarizer } from '@eventloom/llm-agent';
import { toGivenConfig } from './run-start.ts';
import type { SessionCacheOptions } from './session-loader.ts';

/**
 * Options of a `Runner`. Required are `appName`, `agent` and `sessionService`. (The `Runner` of `@eventloom/adk` has options of its own, under
 * the same name.)
 */
export interface RunnerConfig {
  /** Name of the app. Sessions, artifacts and memories are stored under it, so keep it between versions of the app. */
  readonly appName: string;
  /** The agent that gets the messages: the root of the agent tree. */
  readonly agent: BaseAgent;
  /** Stores the sessions: `new InMemorySessionService()`, or one that keeps them, such as `SqliteSessionService`. */
  readonly sessionService: BaseSessionService;
  /** Stores files that agents and tools save. Without one, saving and loading a file throws a ConfigurationError. */
  readonly artifactService?: BaseArtifactService | undefined;
  /** Stores what agents remember across sessions. Without one, searching and adding memories throws a ConfigurationError. */
  readonly memoryService?: BaseMemoryService | undefined;
  /** Stores the keys and tokens that tools ask users for. Without one, asking for a credential throws a ConfigurationError. */
  readonly credentialService?: BaseCredentialService | undefined;
  /** Callbacks for all agents, models and tools of the runner, called in this order. Default: none. */
  readonly plugins?: readonly BasePlugin[] | undefined;
  /** Observes runs, agents, model calls and tool calls, for traces and metrics. Of several, the first is the outermost. Default: none. */
  readonly instrumentation?: Instrumentation | readonly Instrumentation[] | undefined;
  /**
   * Support of live runs, `live()` of `@eventloom/live`. The `Runner` of `eventloom` has it already. Default: `runLive` throws a
   * ConfigurationError.
   */
  readonly live?: LiveSupport | undefined;
  /**
   * Finds the model for agents whose `model` is a name: `geminiModels({ apiKey })`, or a function from a name to a model object. Default:
   * agents need model objects, and a name fails the run with a ConfigurationError.
   */
  readonly models?: ModelResolver | undefined;
  /** Clock, ids and timers, to be replaced in tests. Default: those of the system. */
  readonly platform?: Platform | undefined;
  /** True creates the session of a run if it does not exist. Default false: such a run throws SessionNotFoundError. */
  readonly autoCreateSession?: boolean | undefined;
  /**
   * Time in milliseconds that a session stays locked after the process of its run was lost. Only then can another process continue.
   * Default 15,000; at most a day. A run renews its lock by itself, unless a tool blocks the event loop for longer than this.
   */
  readonly leaseTtlMs?: number | undefined;
  /**
   * Time that a person has to answer a tool's request for a confirmation or a credential, in milliseconds since the
   * request. Default: no limit. After a later answer the tool is not run, and the model gets an error; a late credential
   * is not kept.
   */
  readonly requestTtlMs?: number | undefined;
  /**
   * Summarizes long sessions, so that model requests stay short: at the end of a run the older events are replaced, in later requests, by a
   * summary that a model writes. The events stay stored. Not for runs with a `getSessionConfig`. A summary that fails leaves the session
   * as it is. Default: nothing is summarized.
   */
  readonly eventsCompaction?: EventsCompactionConfig | undefined;
  /**
   * Lets the model's service cache the beginning of the requests of each agent and session, which makes long conversations cheaper; `{}`
   * uses the defaults. Gemini supports it; other models ignore it. If a cache cannot be created, the request is sent without it. Default: no caches.
   */
  readonly contextCacheConfig?: ContextCacheConfig | undefined;
  /**
   * Defaults for the `runConfig` of all runs, live runs included. An option that is given to a run replaces the default. `resumable` and
   * `getSessionConfig` are set beside `runConfig` instead. Default: those of `RunConfig`.
   */
  readonly runConfig?: Omit<RunConfigDefaults, 'resumable' | 'getSessionConfig'> | undefined;
  /** True stores the progress of runs, so that a run whose process was lost, or that waits for a person, can continue. Default false. */
  readonly resumable?: boolean | undefined;
  /**
   * Limits the events that a run reads from the session, such as `{ numRecentEvents: 50 }`: the agents do not see older ones. Default: all
   * events, without those that a summary replaces.
   */
  readonly getSessionConfig?: GetSessionConfig | undefined;
  /**
   * Limits of the cache that keeps events of recent sessions in memory between runs: `maxSessions` (default 1,000) and `maxEvents` of all
   * of them together (default 250,000).
   */
  readonly sessionCache?: SessionCacheOptions | undefined;
}

const OPTIONS: OptionNames<RunnerConfig> = {
  appName: true,
  agent: true,
  sessionService: true,
  artifactService: true,
  memoryService: true,
  credentialService: true,
  plugins: true,
  instrumentation: true,
  live: true,
  models: true,
  platform: true,
  autoCreateSession: true,
  sessionCache: true,
  leaseTtlMs: true,
  requestTtlMs: true,
  eventsCompaction: true,
  contextCacheConfig: true,
  runConfig: true,
  resumable: true,
  getSessionConfig: true,
};

const SESSION_CACHE_OPTIONS: OptionNames<SessionCacheOptions> = { maxSessions: true, maxEvents: true };
const WRITE_MODELS = 'write models: geminiModels({ apiKey })';
const EXAMPLE = "new Runner({ appName: 'app', agent, sessionService })";
const IN_RUN = 'write it in the parameters of runAsync';
const HINTS = {
  apiKey: WRITE_MODELS,
  gemini: `${WRITE_MODELS}; only InMemoryRunner has gemini`,
  userId: IN_RUN,
  sessionId: IN_RUN,
  resumabilityConfig: 'write resumable: true',
  eventsCompactionConfig: 'did you mean "eventsCompaction"?',
};

const DAY_MS = 86_400_000;

/** @throws ConfigurationError for a missing or an unknown option */
export function checkRunnerConfig(config: RunnerConfig): void {
  if (isBaseAgent(config)) throw new ConfigurationError(`Runner: got an agent; write ${EXAMPLE}`);
  checkKnown('Runner', OPTIONS, config, HINTS, EXAMPLE);
  if (typeof config.appName !== 'string' || config.appName === '')
    throw new ConfigurationError(
      "Runner: appName is missing; write a name for the app, such as appName: 'weather': sessions are stored under this name",
    );
  if (typeof config.agent?.runAsync !== 'function')
    throw new ConfigurationError(
      `Runner: agent: expected an agent, got ${describeKind(config.agent)}; write agent: new LlmAgent({ … })`,
    );
  if (typeof config.sessionService?.appendEvent !== 'function')
    throw new ConfigurationError(
      `Runner: sessionService: expected a session service, got ${describeKind(config.sessionService)}; write sessionService: new InMemorySessionService()`,
    );
  const { models, plugins } = config;
  if (models !== undefined && typeof models !== 'function')
    throw new ConfigurationError(
      `Runner: models: expected a function, got ${describeKind(models)}; write models: geminiModels({ apiKey })`,
    );
  if (plugins !== undefined && !Array.isArray(plugins))
    throw new ConfigurationError(
      `Runner: plugins: expected a list, got ${describeKind(plugins)}; write plugins: [new LoggingPlugin()]`,
    );
  for (const plugin of plugins ?? [])
    if (typeof plugin?.beforeRunCallback !== 'function')
      throw new ConfigurationError(
        `Runner: plugins: expected plugins, got ${describeKind(plugin)}; write plugins: [new LoggingPlugin()]`,
      );
  if (config.eventsCompaction && !isBaseEventsSummarizer(config.eventsCompaction.summarizer))
    throw new ConfigurationError(
      'Runner: eventsCompaction.summarizer: expected a summarizer; write summarizer: new LlmEventSummarizer({ model })',
    );
  if (config.live !== undefined && typeof config.live?.startRun !== 'function')
    throw new ConfigurationError(
      `Runner: live: expected live support, got ${describeKind(config.live)}; write live: live(), with live from @eventloom/live`,
    );
  const { getSessionConfig, sessionCache } = config;
  if (sessionCache !== undefined) checkKnown('Runner: sessionCache', SESSION_CACHE_OPTIONS, sessionCache);
  if (getSessionConfig) checkRunConfig({ getSessionConfig });
  if (config.runConfig !== undefined) checkDefaults(config.runConfig, config);
  if (config.contextCacheConfig) checkContextCacheConfig(config.contextCacheConfig);
  for (const option of ['leaseTtlMs', 'requestTtlMs'] as const) {
    const value: unknown = config[option];
    const isTime = typeof value === 'number' && value > 0 && (value <= DAY_MS || option === 'requestTtlMs');
    if (value !== undefined && !isTime)
      throw new ConfigurationError(
        `Runner: ${option}: expected a positive number of milliseconds${option === 'requestTtlMs' ? '' : ', at most a day'}, got ${describeKind(value)}`,
      );
  }
}

/** @throws ConfigurationError for defaults that make no sense, and for what the runner cannot do */
function checkDefaults(defaults: RunConfigDefaults, { artifactService }: RunnerConfig): void {
  checkRunConfigDefaults(defaults);
  for (const option of ['resumable', 'getSessionConfig'] as const)
    if (defaults[option] !== undefined)
      throw new ConfigurationError(
        `Runner: runConfig.${option}: is an option of the runner; write it next to runConfig`,
      );
  if (defaults.streamingMode === 'bidi')
    throw new ConfigurationError("Runner: runConfig.streamingMode 'bidi' is only for runLive, which needs no default");
  for (const option of ['saveInputBlobsAsArtifacts', 'saveLiveBlob'] as const)
    if (defaults[option] === true && !artifactService)
      throw new ConfigurationError(`Runner: runConfig.${option} needs an artifactService`);
}

/** The defaults of runs: a copy, because the caller may change its own later. */
export function defaultsOf({ runConfig, resumable, getSessionConfig }: RunnerConfig): RunConfigDefaults {
  return {
    ...toGivenConfig({ runConfig }),
    ...(resumable !== undefined && { resumable }),
    ...(getSessionConfig && { getSessionConfig }),
  };
}
