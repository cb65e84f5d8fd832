import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseMemoryService,
  type BaseSessionService,
  type Event,
  type EventloomError,
  type Platform,
  PluginManager,
  RunAbortedError,
  systemPlatform,
} from '@eventloom/core';
import { LeaseKeeper } from './lease-keeper.ts';
import { Run } from './run.ts';
import { toRunError } from './run-failure.ts';
import { checkRunnerConfig, type RunAsyncParams, type RunnerConfig } from './runner-config.ts';
import { SessionCache } from './session-cache.ts';
import { SessionLoader } from './session-loader.ts';

/** The events of one run, as they are committed. */
export interface RunStream extends AsyncGenerator<Event, void, undefined> {
  /** Known before the first event. */
  readonly invocationId: string;
}

/**
 * Runs an agent in sessions. One runner serves any number of runs at once; runs of one session follow each other.
 *
 * A run takes the session, appends the user's message, and drives the agent: each event is committed before the agent goes on
 * and before it is yielded. Whoever stops reading the stream ends the run. (ADK runtime document, "event loop".)
 */
export class Runner {
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly sessionService: BaseSessionService;
  readonly artifactService: BaseArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  readonly pluginManager: PluginManager;
  readonly models: RunnerConfig['models'];
  readonly platform: Platform;
  readonly #sessions: SessionLoader;
  readonly #keeper: LeaseKeeper;
  readonly #active = new Map<string, Run>();

  /** @throws ConfigurationError for what cannot work, and for an option this version does not have */
  constructor(config: RunnerConfig) {
    checkRunnerConfig(config);
    this.appName = config.appName;
    this.agent = config.agent;
    this.sessionService = config.sessionService;
    this.artifactService = config.artifactService;
    this.memoryService = config.memoryService;
    this.pluginManager = new PluginManager(config.plugins);
    this.models = config.models;
    this.platform = config.platform ?? systemPlatform;
    this.#sessions = new SessionLoader(
      config.sessionService,
      new SessionCache(config.sessionCache),
      config.autoCreateSession ?? false,
    );
    this.#keeper = new LeaseKeeper(config.sessionService, this.platform);
  }

  /**
   * Runs the agent on a message and yields its events.
   *
   * The stream throws, before anything is written: ConfigurationError, InvalidMessageError, StateKeyError, StateValueError,
   * SessionNotFoundError, SessionBusyError. Later: RunAbortedError when aborted, StaleWriterError when another writer took the
   * session, and otherwise, after an error event, the error that ended the run (AgentError around what is not Eventloom's own).
   */
  runAsync(params: RunAsyncParams): RunStream {
    const invocationId = `e-${this.platform.newUuid()}`;
    return Object.assign(this.#run(params, invocationId), { invocationId });
  }

  /** As `runAsync`, all events at once. */
  async run(params: RunAsyncParams): Promise<Event[]> {
    const events: Event[] = [];
    for await (const event of this.runAsync(params)) events.push(event);
    return events;
  }

  /** Closes the agent's toolsets and the plugins. No run may be under way. */
  async close(): Promise<void> {
    await this.agent.close();
    for (const plugin of this.pluginManager.plugins) await plugin.close();
  }

  async *#run(params: RunAsyncParams, invocationId: string): AsyncGenerator<Event, void, undefined> {
    const run = new Run(this, params, invocationId);
    let isDone = false;
    try {
      await run.begin({ sessions: this.#sessions, keeper: this.#keeper, active: this.#active });
      const { context } = run;
      const { plugins } = context;
      let failure: EventloomError | undefined;
      try {
        const instead = await plugins.first('beforeRunCallback', { invocationContext: context });
        if (instead) {
          yield await run.commit(
            context.createEvent({ author: this.agent.name, content: { role: 'model', ...instead } }),
          );
        } else {
          const events = this.agent.runAsync(context);
          try {
            for (;;) {
              const next = await run.next(events);
              if (next.done) break;
              const event = run.isForwarded(next.value) ? run.complete(next.value) : await run.commit(next.value);
              if (event.partial !== true || run.isStreaming) yield event;
              if (context.isEnded) break;
            }
          } finally {
            await run.closeAgent(events);
          }
        }
        await plugins.all('afterRunCallback', { invocationContext: context });
      } catch (thrown) {
        failure = toRunError(thrown, run.signal);
        const event = await run.tellFailure(failure, thrown);
        if (event) yield event;
        await plugins.all('onRunErrorCallback', { invocationContext: context, error: failure });
      }
      const completion = run.completionEvent(failure);
      isDone = true;
      if (completion) yield completion;
      if (failure) throw failure;
    } finally {
      if (!isDone) run.abort(new RunAbortedError('the run ended before the agent was done'));
      await run.end();
    }
  }
}
