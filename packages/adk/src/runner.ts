import {
  AgentError,
  type BasePlugin,
  ConfigurationError,
  type Content,
  type Event,
  type RunConfig,
  RunAbortedError,
} from '@eventloom/core';
import { describeKind, isBookkeeping } from '@eventloom/core/internal';
import { live } from '@eventloom/live';
import { type RunAsyncParams, Runner, type RunnerConfig, type RunStream } from '@eventloom/runner';
import { type App, isApp, type ResumabilityConfig } from './app.ts';
import { runMessages, type RunStreamParams } from './background-calls.ts';
import { compactionOf } from './context-compactors.ts';
import { LLMRegistry } from './llm-registry.ts';
import type { RunnableNode } from './workflow/node-context.ts';
import { asRunnableRoot, isWorkflow } from './workflow/workflow.ts';

/** Options of a runner that have another form in the ADK. */
interface AdkNames {
  /** Gives the name, the agent, the plugins and the resumability, before the options of the same meaning. */
  readonly app?: App | undefined;
  /** Required without an `app`. */
  readonly appName?: string | undefined;
  /** The agent or the workflow to run; a tool or a function is put into a workflow. Required without an `app`. */
  readonly agent?: RunnableNode | undefined;
  /** Plugins of every run, called after those of the `app`. */
  readonly plugins?: BasePlugin[] | undefined;
  /** `{ isResumable: true }` is the same as `resumable: true`. */
  readonly resumabilityConfig?: ResumabilityConfig | undefined;
}

/**
 * Options of the `Runner` for programs that were written for `@google/adk`: those of the `Runner` of `eventloom`, and `app` and
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
 * The `Runner` for programs that were written for `@google/adk`. It extends that of `@eventloom/runner`, and differs from the `Runner` of
 * `eventloom` in four ways:
 *
 * - It also takes `app` and `resumabilityConfig`.
 * - `LLMRegistry` creates models that agents give by name, with keys from the environment on Node.
 * - It has `runEphemeral` and `runStream`.
 * - A run that is aborted ends its stream, and throws no `RunAbortedError`.
 *
 * @example
 * const runner = new Runner({ appName: 'weather', agent, sessionService: new InMemorySessionService() });
 */
export class AdkRunner extends Runner {
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  /**
   * True if runs are resumable only because a workflow needs it: bookkeeping events are then hidden from their reader. It is no private member,
   * because libraries that trace programs call methods on a `Proxy` of the runner.
   * @internal
   */
  readonly hidesBookkeeping: boolean;

  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(options: AdkRunnerConfig) {
    const { app, appName, agent, plugins, resumabilityConfig, ...config } = options;
    if (app !== undefined && !isApp(app))
      throw new ConfigurationError(
        `Runner: app: expected an App, got ${describeKind(app)}; write app: new App({ name, rootAgent })`,
      );
    const given = app?.rootAgent ?? agent;
    if (!given)
      throw new ConfigurationError(
        'Runner: agent is missing; write agent: new LlmAgent({ … }), or app: new App({ … })',
      );
    const root = asRunnableRoot(given);
    const resumability = app?.resumabilityConfig ?? resumabilityConfig;
    const resumable = config.resumable ?? resumability?.isResumable;
    super({
      ...config,
      appName: app?.name ?? appName ?? '',
      agent: root,
      plugins: [...(app?.plugins ?? []), ...(plugins ?? [])],
      // A workflow can wait for people only in runs that can be resumed.
      resumable: resumable ?? (isWorkflow(root) || undefined),
      eventsCompaction: config.eventsCompaction ?? compactionOf(root),
      models: config.models ?? LLMRegistry.resolver(),
      live: config.live ?? live(),
    });
    this.resumabilityConfig = resumability;
    this.hidesBookkeeping = resumable !== true && isWorkflow(root);
  }

  get '~eventloom.adk-runner'(): true {
    return true;
  }

  /**
   * Runs the agent as `runAsync` of `@eventloom/runner` does, with the ADK's ends: an aborted run ends its stream without an error, and the error of
   * an agent is thrown as it is.
   */
  override runAsync(params: RunAsyncParams): RunStream {
    return withAdkEnds(super.runAsync(params), params?.abortSignal, this.hidesBookkeeping);
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

  /**
   * Runs the agent for each message of `inputStream`, and again when a `BackgroundTool` has its result. Yields the messages of the user, the events of the
   * runs, and the questions of background tools. Ends when the messages have ended and no background tool works.
   * @throws ConfigurationError if another stream runs the session
   */
  runStream(params: RunStreamParams): AsyncGenerator<Event, void, undefined> {
    return runMessages(this, params);
  }
}

/** Returns true for a runner of this package, including one of another loaded copy of it. */
export function isRunner(value: unknown): value is AdkRunner {
  return typeof value === 'object' && value !== null && '~eventloom.adk-runner' in value;
}

function withAdkEnds(stream: RunStream, signal: AbortSignal | undefined, hidesBookkeeping: boolean): RunStream {
  const next = stream.next.bind(stream);
  stream.next = async () => {
    try {
      for (;;) {
        const step = await next();
        if (step.done || !hidesBookkeeping || !isBookkeeping(step.value)) return step;
      }
    } catch (error) {
      if (signal?.aborted && RunAbortedError.isInstance(error)) return { done: true, value: undefined };
      throw AgentError.isInstance(error) ? error.cause : error;
    }
  };
  return stream;
}
