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
} from '@eventloom/core/internal';
import { type EventsCompactionConfig, isBaseEventsSummarizer } from '@eventloom/llm-agent';
import { toGivenConfig } from './run-start.ts';
import type { SessionCacheOptions } from './session-loader.ts';

/** Config of a runner. */
export interface RunnerConfig {
  /** Names the app in sessions, artifacts and memory. */
  readonly appName: string;
  /** The root agent. */
  readonly agent: BaseAgent;
  readonly sessionService: BaseSessionService;
  readonly artifactService?: BaseArtifactService | undefined;
  readonly memoryService?: BaseMemoryService | undefined;
  /** Keeps the credentials that tools ask users for. Without one, tools cannot ask. */
  readonly credentialService?: BaseCredentialService | undefined;
  readonly plugins?: readonly BasePlugin[] | undefined;
  /** Observes runs, agents, model calls and tool calls: for traces and metrics. Several are nested in this order. */
  readonly instrumentation?: Instrumentation | readonly Instrumentation[] | undefined;
  /** Lets `runLive` run agents: `live()` of `@eventloom/live`. The `Runner` of `eventloom` has it. Default: runLive throws. */
  readonly live?: LiveSupport | undefined;
  /** Finds the model that a string names. */
  readonly models?: ModelResolver | undefined;
  /** The clock, ids and timers. Default: the system's. */
  readonly platform?: Platform | undefined;
  /** Makes a session that does not exist when a run names it. Default false: such a run fails. */
  readonly autoCreateSession?: boolean | undefined;
  /**
   * Time that a session stays locked after the process of its run died, in milliseconds; live runs renew the lock in
   * time. Default 15,000, at most a day. A tool that blocks the processor for longer may lose the session to another
   * process.
   */
  readonly leaseTtlMs?: number | undefined;
  /**
   * Time that a person has to answer a tool's request for a confirmation or a credential, in milliseconds since the
   * request. Default: no limit. After a later answer the tool is not run, and the model is told so; a late credential
   * is not kept.
   */
  readonly requestTtlMs?: number | undefined;
  /**
   * Compacts sessions at the end of runs, after `afterRunCallback` and before the session is given back: an event with a summary is
   * appended, which the stream does not yield. A run that fails or is left compacts nothing, nor does one with a window of its own
   * (`getSessionConfig`). A summary that fails is reported to the platform and leaves the session as it is.
   */
  readonly eventsCompaction?: EventsCompactionConfig | undefined;
  /**
   * Has models cache at their service what requests begin with, each agent of a session its own; `{}` for the defaults. For models
   * that can: others take no notice. A cache that cannot be made or is gone is reported to the platform and done without.
   */
  readonly contextCacheConfig?: ContextCacheConfig | undefined;
  /**
   * Defaults for the config of all runs, live ones included. What a run is given goes before them, option by option; of `customMetadata` key by
   * key. A resumed run keeps the options that it began with. `resumable` and `getSessionConfig` are options of the runner itself.
   */
  readonly runConfig?: Omit<RunConfigDefaults, 'resumable' | 'getSessionConfig'> | undefined;
  /** Default of `RunConfig.resumable`: true if runs can be resumed. Default false. */
  readonly resumable?: boolean | undefined;
  /** Default of `RunConfig.getSessionConfig`: selects the events that runs read. Default: all that count. */
  readonly getSessionConfig?: GetSessionConfig | undefined;
  /**
   * Maximum number of sessions, and of their events in total, that are kept in memory between runs. Default 1,000 and
   * 250,000.
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

/** @throws ConfigurationError for what is missing, and for an option this version does not have */
export function checkRunnerConfig(config: RunnerConfig): void {
  checkKnown('Runner', OPTIONS, config, HINTS);
  if (typeof config.appName !== 'string' || config.appName === '')
    throw new ConfigurationError(
      "Runner: appName is missing; write a name for the app, such as appName: 'weather': sessions are stored under it",
    );
  if (typeof config.agent?.runAsync !== 'function')
    throw new ConfigurationError(
      `Runner: agent must be an agent, such as new LlmAgent({ … }), is ${describeKind(config.agent)}`,
    );
  if (typeof config.sessionService?.appendEvent !== 'function')
    throw new ConfigurationError(
      `Runner: sessionService must be a session service, such as new InMemorySessionService(), is ${describeKind(config.sessionService)}`,
    );
  if (config.eventsCompaction && !isBaseEventsSummarizer(config.eventsCompaction.summarizer))
    throw new ConfigurationError(
      'Runner: eventsCompaction.summarizer must be a summarizer, such as new LlmEventSummarizer({ model })',
    );
  if (config.live !== undefined && typeof config.live?.startRun !== 'function')
    throw new ConfigurationError('Runner: live must be live support, as `live()` of @eventloom/live returns it');
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
        `Runner: ${option} must be a positive number of milliseconds, and a lease at most a day`,
      );
  }
}

/** @throws ConfigurationError for defaults that make no sense, and for what the runner cannot do */
function checkDefaults(defaults: RunConfigDefaults, { artifactService }: RunnerConfig): void {
  checkRunConfigDefaults(defaults);
  for (const option of ['resumable', 'getSessionConfig'] as const)
    if (defaults[option] !== undefined)
      throw new ConfigurationError(
        `Runner: runConfig.${option}: is an option of the runner itself; write it beside runConfig`,
      );
  if (defaults.streamingMode === 'bidi')
    throw new ConfigurationError("Runner: runConfig.streamingMode 'bidi' is for runLive, which needs no default");
  for (const option of ['saveInputBlobsAsArtifacts', 'saveLiveBlob'] as const)
    if (defaults[option] === true && !artifactService)
      throw new ConfigurationError(`Runner: runConfig.${option} needs an artifactService`);
}

/** The defaults of runs: a copy, as the caller may go on changing its own. */
export function defaultsOf({ runConfig, resumable, getSessionConfig }: RunnerConfig): RunConfigDefaults {
  return {
    ...toGivenConfig({ runConfig }),
    ...(resumable !== undefined && { resumable }),
    ...(getSessionConfig && { getSessionConfig }),
  };
}
