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
  checkOptions,
  wrongOption,
  checkRunConfig,
  checkRunConfigDefaults,
  type OptionRules,
  isBaseAgent,
  isRecord,
} from '@eventloom/core/internal';
import type { EventsCompactionConfig } from '@eventloom/llm-agent';
import { toGivenConfig } from './run-request.ts';
import type { SessionCacheOptions } from './session-loader.ts';

/**
 * Options of a `Runner`. Required are `appName`, `agent` and `sessionService`. (The `Runner` of `@eventloom/adk` has
 * options of its own, under the same name.)
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
  /** Stores memories of earlier sessions, for later ones. Without one, searching and adding memories throws a ConfigurationError. */
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
  /** Clock, ids, random numbers and timers, to be replaced in tests. Default: those of the system. */
  readonly platform?: Platform | undefined;
  /**
   * True creates the session of a run if it does not exist. Default false: such a run throws SessionNotFoundError, as does a run whose
   * session is deleted while it waits for the session, also with true.
   */
  readonly autoCreateSession?: boolean | undefined;
  /**
   * Time in milliseconds that a session stays locked after the process of its run was lost. Only then can another process continue.
   * Default 15,000; at most a day. A run renews its lock by itself, unless a tool blocks the event loop for longer than this.
   */
  readonly leaseTtlMs?: number | undefined;
  /**
   * Time that a person has to answer a request (confirmation, credential, input), in milliseconds since the request.
   * Default: no limit. After a later answer a tool is not run, and the model gets an error; a node that asked asks again;
   * a late credential is not kept.
   */
  readonly requestTtlMs?: number | undefined;
  /**
   * Summarizes long sessions, so that model requests stay short: at the end of a run the older events are replaced, in later requests, by a
   * summary that a model writes. The events stay stored. Not for runs with a `getSessionConfig`. A summary that fails leaves the session
   * as it is. Default: nothing is summarized.
   */
  readonly eventsCompaction?: EventsCompactionConfig | undefined;
  /**
   * Lets the model's service cache the beginning of the requests of each agent and session, which makes long
   * conversations cheaper; `{}` uses the defaults. Gemini supports it; other models ignore it. If a cache cannot be
   * created, the request is sent without it. Default: no caches.
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
   * Limits of the cache that keeps events of recent sessions in memory between runs: `maxSessions` (default 1,000), and for all of them
   * together `maxEvents` (default 250,000) and `maxChars` (default 64,000,000).
   */
  readonly sessionCache?: SessionCacheOptions | undefined;
}

const AGENT = 'new LlmAgent({ … })';
const SESSIONS = 'new InMemorySessionService()';
const PLUGINS = '[new LoggingPlugin()]';

const OPTIONS: OptionRules<RunnerConfig> = {
  appName: { is: 'text', write: "'weather'" },
  agent: { is: 'object', wanted: 'an agent', write: AGENT },
  sessionService: { is: 'object', wanted: 'a session service', write: SESSIONS },
  artifactService: {
    is: 'object',
    has: 'saveArtifact',
    wanted: 'an artifact service',
    write: 'new InMemoryArtifactService()',
  },
  memoryService: {
    is: 'object',
    has: 'searchMemory',
    wanted: 'a memory service',
    write: 'new InMemoryMemoryService()',
  },
  credentialService: {
    is: 'object',
    has: 'loadCredential',
    wanted: 'a credential service',
    write: 'new InMemoryCredentialService()',
  },
  plugins: { is: 'list', wanted: 'a list of plugins', write: PLUGINS },
  instrumentation: { is: 'object or list', write: 'openTelemetry()' },
  live: { is: 'object', has: 'claimQueue', wanted: 'live support', write: 'live(), of @eventloom/live' },
  models: { is: 'function', write: 'geminiModels({ apiKey })' },
  platform: 'object',
  autoCreateSession: 'flag',
  sessionCache: 'object',
  leaseTtlMs: {
    is: 'number',
    min: Number.MIN_VALUE,
    max: 86_400_000,
    wanted: 'a positive number of milliseconds, at most a day',
    write: '15_000',
  },
  requestTtlMs: {
    is: 'number',
    min: Number.MIN_VALUE,
    wanted: 'a positive number of milliseconds',
    write: '86_400_000',
  },
  eventsCompaction: { is: 'object', write: '{ summarizer, tokenThreshold: 30_000, eventRetentionSize: 20 }' },
  contextCacheConfig: { is: 'object', write: '{ minTokens: 4096 }' },
  runConfig: { is: 'object', write: '{ maxLlmCalls: 50 }' },
  resumable: 'flag',
  getSessionConfig: { is: 'object', write: '{ numRecentEvents: 200 }' },
};

const SESSION_CACHE_OPTIONS: OptionRules<SessionCacheOptions> = {
  maxSessions: 'number',
  maxEvents: 'number',
  maxChars: 'number',
};
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

/** Checks the options of a runner. @throws ConfigurationError for a missing or an unknown option, and for a value of the wrong kind */
export function checkRunnerConfig(config: RunnerConfig): void {
  if (!('withResolvers' in Promise))
    throw new ConfigurationError(
      'Runner: this runtime is too old: it has no Promise.withResolvers; run the program with Node 22.18 or later (node --version)',
    );
  if (isBaseAgent(config)) throw new ConfigurationError(`Runner: got an agent; write ${EXAMPLE}`);
  checkOptions('Runner', OPTIONS, config, HINTS, EXAMPLE);
  if (config.appName === undefined || config.appName === '')
    throw new ConfigurationError(
      "Runner: appName is missing; write a name for the app, such as appName: 'weather': sessions are stored under this name",
    );
  const { agent, sessionService, plugins = [] } = config;
  if (typeof agent?.runAsync !== 'function')
    throw wrongOption('Runner', 'agent', 'an agent', agent, hasCompile(agent) ? 'graph.compile()' : AGENT);
  if (typeof sessionService?.appendEvent !== 'function')
    throw wrongOption('Runner', 'sessionService', 'a session service', sessionService, SESSIONS);
  for (const [index, plugin] of plugins.entries())
    if (typeof plugin?.beforeRunCallback !== 'function')
      throw wrongOption('Runner', `plugins[${index}]`, 'a plugin', plugin, PLUGINS);
  const { getSessionConfig, sessionCache } = config;
  if (sessionCache !== undefined) checkOptions('Runner: sessionCache', SESSION_CACHE_OPTIONS, sessionCache);
  if (getSessionConfig) checkRunConfig({ getSessionConfig });
  if (config.runConfig !== undefined) checkDefaults(config.runConfig, config);
  if (config.contextCacheConfig) checkContextCacheConfig(config.contextCacheConfig);
}

/** True for the builder of a graph, whose `compile` returns the agent. */
function hasCompile(value: unknown): boolean {
  return isRecord(value) && typeof value['compile'] === 'function';
}

/**
 * Checks the defaults of run configs.
 * @throws ConfigurationError for invalid defaults, and for defaults that need a service which the runner does not have
 */
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
      throw new ConfigurationError(
        `Runner: runConfig.${option} needs an artifactService; write artifactService: new InMemoryArtifactService()`,
      );
}

/** The defaults of runs: a copy, because the caller may change its own later. */
export function defaultsOf({ runConfig, resumable, getSessionConfig }: RunnerConfig): RunConfigDefaults {
  return {
    ...toGivenConfig({ runConfig }),
    ...(resumable !== undefined && { resumable }),
    ...(getSessionConfig && { getSessionConfig }),
  };
}
