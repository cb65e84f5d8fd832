import {
  type BaseAgent,
  type BasePlugin,
  ConfigurationError,
  type Content,
  type Event,
  type RunConfig,
  RunAbortedError,
} from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import { live } from '@eventloom/live';
import { type RunAsyncParams, Runner, type RunnerConfig, type RunStream } from '@eventloom/runner';
import { type App, isApp, type ResumabilityConfig } from './app.ts';
import { LLMRegistry } from './llm-registry.ts';

/** Options of a runner that other options of the ADK stand for. */
interface AdkNames {
  /** Gives the name, the agent, the plugins and the resumability, before the options of the same meaning. */
  readonly app?: App | undefined;
  /** Required without an `app`. */
  readonly appName?: string | undefined;
  /** The agent to run. Required without an `app`. */
  readonly agent?: BaseAgent | undefined;
  /** Plugins of every run, called after those of the `app`. */
  readonly plugins?: BasePlugin[] | undefined;
  /** `{ isResumable: true }` is the same as `resumable: true`. */
  readonly resumabilityConfig?: ResumabilityConfig | undefined;
}

/**
 * Options of the `Runner` for programs that were written for @google/adk: those of the `Runner` of `eventloom`, and `app` and
 * `resumabilityConfig`.
 */
export interface AdkRunnerConfig extends Omit<RunnerConfig, 'appName' | 'agent' | 'plugins'>, AdkNames {}

/** Parameters of `runEphemeral`. */
export interface RunEphemeralParams {
  readonly userId: string;
  readonly newMessage: Content;
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  readonly runConfig?: RunConfig | undefined;
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The `Runner` for programs that were written for @google/adk. It extends that of `@eventloom/runner`, and differs from the `Runner` of
 * `eventloom` in four ways:
 *
 * - It also takes `app` and `resumabilityConfig`.
 * - `LLMRegistry` creates models that agents give by name, with keys from the environment on Node.
 * - It has `runEphemeral`.
 * - A run that is aborted ends its stream, and throws no `RunAbortedError`.
 *
 * @example
 * const runner = new Runner({ appName: 'weather', agent, sessionService: new InMemorySessionService() });
 */
export class AdkRunner extends Runner {
  readonly resumabilityConfig: ResumabilityConfig | undefined;

  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(options: AdkRunnerConfig) {
    const { app, appName, agent, plugins, resumabilityConfig, ...config } = options;
    if (app !== undefined && !isApp(app))
      throw new ConfigurationError(
        `Runner: app: expected an App, got ${describeKind(app)}; write app: new App({ name, rootAgent })`,
      );
    const root = app?.rootAgent ?? agent;
    if (!root)
      throw new ConfigurationError(
        'Runner: agent is missing; write agent: new LlmAgent({ … }), or app: new App({ … })',
      );
    const resumability = app?.resumabilityConfig ?? resumabilityConfig;
    super({
      ...config,
      appName: app?.name ?? appName ?? '',
      agent: root,
      plugins: [...(app?.plugins ?? []), ...(plugins ?? [])],
      resumable: config.resumable ?? resumability?.isResumable,
      models: config.models ?? LLMRegistry.resolver(),
      live: config.live ?? live(),
    });
    this.resumabilityConfig = resumability;
  }

  get '~eventloom.adk-runner'(): true {
    return true;
  }

  /** Runs the agent as `runAsync` of `@eventloom/runner` does, except that an aborted run ends its stream without an error, as in the ADK. */
  override runAsync(params: RunAsyncParams): RunStream {
    return endsWhenAborted(super.runAsync(params), params?.abortSignal);
  }

  /** Runs the agent in a new session, and deletes the session afterwards. */
  async *runEphemeral({ userId, ...params }: RunEphemeralParams): AsyncGenerator<Event, void, undefined> {
    const { appName } = this;
    const { id: sessionId } = await this.sessionService.createSession({ appName, userId });
    try {
      yield* this.runAsync({ ...params, userId, sessionId });
    } finally {
      await this.sessionService.deleteSession({ appName, userId, sessionId });
    }
  }
}

/** Returns true for a runner of this package, including one of another loaded copy of it. */
export function isRunner(value: unknown): value is AdkRunner {
  return typeof value === 'object' && value !== null && '~eventloom.adk-runner' in value;
}

/** Makes the stream end, instead of throwing, when the caller aborted the run. */
function endsWhenAborted(stream: RunStream, signal: AbortSignal | undefined): RunStream {
  if (!signal) return stream;
  const next = stream.next.bind(stream);
  stream.next = async () => {
    try {
      return await next();
    } catch (error) {
      if (signal.aborted && RunAbortedError.isInstance(error)) return { done: true, value: undefined };
      throw error;
    }
  };
  return stream;
}
