import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BaseSessionService,
  type Event,
  type EventloomError,
  type EventsCompactor,
  type LiveRequestQueue,
  type Platform,
  PluginManager,
  systemPlatform,
} from '@eventloom/core';
import { Route } from '@eventloom/multi-agent';
import { compactSession } from './compact-session.ts';
import { completionEvent } from './completion-event.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { RewindParams } from './rewind.ts';
import type { RunLiveParams } from './live/run-live-params.ts';
import { Run, type RunSupport } from './run.ts';
import { isUntold, tellFailure, tellPlugins, toRunError } from './run-failure.ts';
import { storeEnd, storeFailedEnd } from './resume/store-end.ts';
import { EventRunStream, type RunStream } from './run-stream.ts';
import type { RunAsyncParams } from './run-params.ts';
import { checkRunnerConfig, type RunnerConfig } from './runner-config.ts';
import { SessionCache } from './session-cache.ts';
import { SessionLoader } from './session-loader.ts';

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
  readonly credentialService: BaseCredentialService | undefined;
  readonly pluginManager: PluginManager;
  readonly models: RunnerConfig['models'];
  readonly contextCacheConfig: RunnerConfig['contextCacheConfig'];
  readonly platform: Platform;
  readonly requestTtlMs: number | undefined;
  /** What goes for runs that do not say whether they can be resumed. */
  readonly resumable: boolean;
  readonly #support: RunSupport;
  readonly #compactor: EventsCompactor | undefined;

  /** @throws ConfigurationError for what cannot work, and for an option this version does not have */
  constructor(config: RunnerConfig) {
    checkRunnerConfig(config);
    this.appName = config.appName;
    this.agent = config.agent;
    this.sessionService = config.sessionService;
    this.artifactService = config.artifactService;
    this.memoryService = config.memoryService;
    this.credentialService = config.credentialService;
    this.requestTtlMs = config.requestTtlMs;
    this.resumable = config.resumable ?? false;
    this.pluginManager = new PluginManager(config.plugins);
    this.models = config.models;
    this.contextCacheConfig = config.contextCacheConfig;
    this.platform = config.platform ?? systemPlatform;
    this.#compactor = config.eventsCompaction?.summarizer.createCompactor(config.eventsCompaction);
    const cache = new SessionCache(config.sessionCache);
    this.#support = {
      sessions: new SessionLoader(config.sessionService, cache, config),
      keeper: new LeaseKeeper(config.sessionService, this.platform),
      active: new Map(),
    };
  }

  /**
   * Runs the agent on a message and yields its events; or, with an `invocationId`, goes on with a run that did not come to its end.
   *
   * The stream throws, before anything is written: ConfigurationError, InvalidMessageError, InvalidRequestError
   * (a run that cannot be resumed), StateKeyError, StateValueError,
   * SessionNotFoundError, SessionBusyError, AgentError around what a plugin threw at the message. Later: RunAbortedError when aborted, StaleWriterError when another writer took the
   * session, and otherwise, after an error event, the error that ended the run (AgentError around what is not Eventloom's own).
   */
  runAsync(params: RunAsyncParams): RunStream {
    const invocationId = params?.invocationId ?? `e-${this.platform.newUuid()}`;
    return new EventRunStream(invocationId, this.#run(params, invocationId));
  }

  /**
   * Runs the agent live: both sides speak when they like, the client by its queue, the agent by the events of the stream. One
   * invocation for the whole call; the session is taken for as long as it lasts. Yields what comes as it comes. Stored is what is whole and not
   * raw media. Ends when the queue is closed and read, and when an agent ends the invocation.
   *
   * Throws as `runAsync` does, and LiveConnectionError when the service refuses the connection or too many in a row are lost.
   */
  runLive(params: RunLiveParams): RunStream {
    const invocationId = `e-${this.platform.newUuid()}`;
    return new EventRunStream(invocationId, this.#runLive(params, invocationId));
  }

  async *#runLive(given: RunLiveParams, invocationId: string): AsyncGenerator<Event, void, undefined> {
    // Not loaded with agents that only write.
    const { toLiveRun } = await import('./live/run-live-params.ts');
    const { params, queue } = toLiveRun(given, this);
    yield* this.#run(params, invocationId, queue);
  }

  /** As `runAsync`, all events at once. */
  async run(params: RunAsyncParams): Promise<Event[]> {
    const events: Event[] = [];
    for await (const event of this.runAsync(params)) events.push(event);
    return events;
  }

  /**
   * Takes a session back to before an invocation: appends an event that makes every reader skip what came from the invocation's
   * first event on. The session's own state is as it was, keys that the session was created with included. Each of its artifacts
   * that was saved since gets what it held as its newest version; one that was not there is deleted. The state of the user and
   * of the app, and the user's own artifacts, stay: other sessions share them.
   *
   * Reads the history from its begin, in pages, while it holds the session.
   * @returns the event as it was stored
   * @throws InvalidRequestError when the session has no such invocation, or an artifact cannot be as it was; nothing is changed
   * @throws ConfigurationError without an artifact service when artifacts were saved; nothing is changed
   * @throws SessionNotFoundError SessionBusyError StaleWriterError RunAbortedError; nothing but versions of artifacts is changed
   */
  async rewindAsync(params: RewindParams): Promise<Event> {
    // Seldom needed: not loaded with the agent.
    const { rewind } = await import('./rewind.ts');
    return rewind(this, this.#support, params);
  }

  /** Closes the agent's toolsets and the plugins. No run may be under way. */
  async close(): Promise<void> {
    await this.agent.close();
    for (const plugin of this.pluginManager.plugins) await plugin.close();
  }

  async *#run(
    params: RunAsyncParams,
    invocationId: string,
    queue?: LiveRequestQueue,
  ): AsyncGenerator<Event, void, undefined> {
    const run = new Run(this, this.#support, params, invocationId, queue);
    let isDone = false;
    try {
      const scope = await run.begin();
      const { context, committer } = scope;
      const { plugins } = context;
      const route = new Route(context.forAgent(scope.picked.agent, { branch: scope.picked.branch }));
      let failure: EventloomError | undefined;
      try {
        const instead = plugins.has('beforeRunCallback')
          ? await plugins.first('beforeRunCallback', { invocationContext: context })
          : undefined;
        if (instead) {
          const author = scope.picked.agent.name;
          yield await committer.commit(context.createEvent({ author, content: { role: 'model', ...instead } }));
        } else {
          let isOver = false;
          try {
            while (!context.isEnded) {
              const next = await run.pull(route.events, context);
              run.pulled();
              if (next.done === true) {
                const announcement = route.handOver();
                if (!announcement) break;
                yield await committer.commit(announcement);
                continue;
              }
              const { value } = next;
              const event = committer.isForwarded(value) ? committer.complete(value) : await committer.commit(value);
              if (event.partial !== true || run.isStreaming) yield event;
            }
            isOver = true;
          } finally {
            if (!isOver) await run.stopAgent(route.events);
          }
          if (context.isEnded) await route.events.return(undefined);
        }
        if (plugins.has('afterRunCallback')) await plugins.all('afterRunCallback', { invocationContext: context });
        if (context.isResumable && !context.isPaused) await storeEnd(scope);
        if (this.#compactor) await compactSession(this.#compactor, scope, this.sessionService);
      } catch (thrown) {
        failure = toRunError(thrown, run.abortReason);
        const event = await tellFailure(scope, failure, thrown, route.context);
        if (context.isResumable && !isUntold(failure)) await storeFailedEnd(scope);
        if (event) yield event;
        await tellPlugins(context, failure);
      }
      const completion = completionEvent(scope, failure);
      isDone = failure === undefined;
      if (completion) yield completion;
      if (failure) throw failure;
    } catch (thrown) {
      throw toRunError(thrown, run.abortReason);
    } finally {
      if (!isDone) run.stop();
      await run.end();
    }
  }
}
