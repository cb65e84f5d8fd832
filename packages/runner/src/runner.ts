import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BaseSessionService,
  closeAll,
  enclosureOf,
  type Event,
  type EventloomError,
  EventsCompactor,
  type GetSessionConfig,
  type InvocationContext,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type Platform,
  PluginManager,
  RunAbortedError,
  type RunLiveParams,
  type SessionKey,
  systemPlatform,
} from '@eventloom/core';
import { Route } from '@eventloom/multi-agent';
import { ActiveRuns } from './active-runs.ts';
import { answeredCallIds } from './answered-call-ids.ts';
import { findAnsweredRun, type FindAnsweredRunParams } from './answered-run.ts';
import { completionEvent } from './completion-event.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { checkNewMessage } from './new-message.ts';
import { rewind, type RewindParams } from './rewind.ts';
import { Run, type RunOutcome, type RunSupport } from './run.ts';
import { isUntold, tellFailure, tellPlugins, toRunError } from './run-failure.ts';
import { closeRun, type CloseRunParams } from './resume/close-run.ts';
import { storeEnd, storeFailedEnd } from './resume/store-end.ts';
import { EventRunStream, type RunStream } from './run-stream.ts';
import type { RunAsyncParams } from './run-params.ts';
import { checkRunnerConfig, type RunnerConfig } from './runner-config.ts';
import { SessionCache } from './session-cache.ts';
import { SessionLoader } from './session-loader.ts';

/** Replays the stored events of a resumed run, without those of agents that are called as tools. */
function* replayOf({ invocation: { past } }: InvocationContext): Generator<Event, void, void> {
  for (const event of past?.events ?? []) {
    const isYielded = event.author !== 'user' && enclosureOf(event.branch) === '' && !event.actions.compaction;
    if (isYielded) yield event;
  }
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
  readonly credentialService: BaseCredentialService | undefined;
  readonly pluginManager: PluginManager;
  readonly models: RunnerConfig['models'];
  readonly contextCacheConfig: RunnerConfig['contextCacheConfig'];
  readonly platform: Platform;
  readonly requestTtlMs: number | undefined;
  /** What goes for runs that do not say whether they can be resumed. */
  readonly resumable: boolean;
  /** What goes for runs that do not say which of the session's events they read. */
  readonly getSessionConfig: GetSessionConfig | undefined;
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
    this.getSessionConfig = config.getSessionConfig;
    this.pluginManager = new PluginManager(config.plugins);
    this.models = config.models;
    this.contextCacheConfig = config.contextCacheConfig;
    this.platform = config.platform ?? systemPlatform;
    this.#compactor = config.eventsCompaction && new EventsCompactor(config.eventsCompaction);
    const cache = new SessionCache(config.sessionCache);
    this.#support = {
      sessions: new SessionLoader(config.sessionService, cache, config),
      keeper: new LeaseKeeper(config.sessionService, this.platform),
      active: new ActiveRuns(),
    };
  }

  /**
   * Runs the agent on a message and yields its events; or, with an `invocationId`, goes on with a run that did not come to its end.
   * Answers to calls go on with the run that made the calls, if that can be resumed and did not come to its end; otherwise they begin a run of
   * the agent that made them.
   *
   * The stream throws, before anything is written: ConfigurationError, InvalidMessageError, InvalidRequestError
   * (a run that cannot be resumed), StateKeyError, StateValueError,
   * SessionNotFoundError, SessionBusyError, AgentError around what a plugin threw at the message. Later: RunAbortedError when aborted, StaleWriterError when another writer took the
   * session, and otherwise, after an error event, the error that ended the run (AgentError around what is not Eventloom's own).
   */
  runAsync(params: RunAsyncParams): RunStream {
    const invocationId = params?.invocationId ?? `e-${this.platform.newUuid()}`;
    return new EventRunStream(invocationId, (onId) => this.#run(params, invocationId, onId));
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
    return new EventRunStream(invocationId, (onId) => this.#run(params, invocationId, onId, params));
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
   * that was saved since gets what it held as its newest version; one that was not there is deleted, with all of its versions, and
   * stays so when the rewind itself is rewound. The state of the user and of the app, and the user's own artifacts, stay: other
   * sessions share them.
   *
   * The event decides. Artifacts are in a store of their own, so they follow it: what could not be done to them when this returns,
   * because a store failed or the session was taken, is told to the platform and stands in the session's state under
   * `eventloom.artifactsToRestore`; the next run or rewind does it before anything else, or throws what the store throws. A second
   * event tells of the new versions.
   *
   * Reads the history from its begin, in pages, while it holds the session. To ask again for the same is to get the same.
   * @returns the event as it was stored
   * @throws InvalidRequestError when the session has no such invocation, or an artifact cannot be as it was; nothing is changed
   * @throws ConfigurationError without an artifact service when artifacts were saved; nothing is changed
   * @throws SessionNotFoundError SessionBusyError StaleWriterError RunAbortedError and what the services throw; nothing is changed
   */
  rewindAsync(params: RewindParams): Promise<Event> {
    return rewind(this, this.#support, params);
  }

  /**
   * The run that `runAsync` goes on with when it is given this message and no `invocationId`: the resumable one that made the calls which
   * the message answers, if it did not come to its end. Undefined when the message begins a run.
   * @throws InvalidMessageError for what is no message, and for answers to calls of several runs
   * @throws SessionNotFoundError
   */
  async findAnsweredRun({ userId, sessionId, newMessage }: FindAnsweredRunParams): Promise<string | undefined> {
    const key: SessionKey = { appName: this.appName, userId, sessionId };
    const callIds = answeredCallIds(checkNewMessage(newMessage));
    if (callIds.length === 0) return undefined;
    return findAnsweredRun(this.sessionService, key, callIds);
  }

  /**
   * A page of the app's open runs: resumable ones that are under way in any process, or were left by one that ended. Those that were
   * left are resumed with `runAsync({ userId, sessionId, invocationId })`, or given up with `closeRun`.
   * @throws InvalidRequestError for a cursor that this service did not give, or a limit that is no positive integer
   */
  listOpenRuns(request: Omit<ListOpenRunsRequest, 'appName'> = {}): Promise<ListOpenRunsResponse> {
    const { limit, cursor } = request;
    return this.sessionService.listOpenRuns({ appName: this.appName, limit, cursor });
  }

  /**
   * Gives up a run that did not come to its end, so that it is never resumed: appends answers to its calls that have none (what the
   * ledger has of finished ones, else `{error: 'interrupted'}`), an error event with the code `RUN_ABANDONED`, and its end. Calls
   * whose answer comes later, and questions to a person, can still be answered, in a new run.
   * @returns the error event; undefined for a run that is over already, was not resumable, or is none of the session's
   * @throws SessionNotFoundError SessionBusyError RunAbortedError; StaleWriterError when another writer took the session
   */
  closeRun(params: CloseRunParams): Promise<Event | undefined> {
    return closeRun(this, this.#support, params);
  }

  /** Closes the agent's toolsets and the plugins, all of them, and then throws what the first threw that failed. No run may be under way. */
  close(): Promise<void> {
    return closeAll([this.agent, ...this.pluginManager.plugins]);
  }

  async *#run(
    params: RunAsyncParams,
    invocationId: string,
    onId: (invocationId: string) => void,
    live?: RunLiveParams,
  ): AsyncGenerator<Event, void, undefined> {
    const run = new Run(this, this.#support, params, invocationId, live);
    let outcome: RunOutcome = 'untold';
    let isDone = false;
    let hasBegun = false;
    try {
      const scope = await run.begin();
      hasBegun = true;
      onId(run.invocationId);
      outcome = 'cut off';
      const { context, committer } = scope;
      params.onBegin?.();
      if (params.replay) yield* replayOf(context);
      const { plugins } = context;
      const route = new Route(context.forAgent(scope.picked.agent, { branch: scope.picked.branch }));
      let failure: EventloomError | undefined;
      try {
        const instead = plugins.has('beforeRunCallback')
          ? await context.untilLetGo(plugins.first('beforeRunCallback', { invocationContext: context }))
          : undefined;
        if (instead) {
          const author = scope.picked.agent.name;
          yield await committer.commit(context.createEvent({ author, content: { role: 'model', ...instead } }));
        } else {
          let isOver = false;
          try {
            while (!context.isEnded || context.progress.endsItself) {
              const next = await run.pull(route.events, context);
              run.pulled();
              if (next.done === true) {
                const announcement = context.isEnded ? undefined : route.handOver();
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
        if (plugins.has('afterRunCallback')) {
          await context.untilLetGo(plugins.all('afterRunCallback', { invocationContext: context }));
        }
        if (context.isResumable && !context.isPaused) await storeEnd(scope);
        outcome = 'over';
        await this.#compactor?.compactSession(scope, this.sessionService);
      } catch (thrown) {
        const failed = context.progress.failedAt(thrown) ?? route.context;
        failure = toRunError(thrown, run.abortReason, failed);
        const event = await tellFailure(scope, failure, thrown, failed);
        if (!isUntold(failure)) outcome = context.isResumable && !(await storeFailedEnd(scope)) ? 'untold' : 'over';
        if (event) yield event;
        await tellPlugins(context, failure);
      }
      isDone = failure === undefined;
      if (run.config.completionEvent) yield completionEvent(this, run, failure);
      if (failure) throw failure;
    } catch (thrown) {
      const error = toRunError(thrown, run.abortReason);
      if (!hasBegun && run.config.completionEvent && RunAbortedError.isInstance(error))
        yield completionEvent(this, run, error);
      if (!run.isLetGo) throw error;
    } finally {
      if (!isDone) run.stop();
      await run.end(outcome);
    }
  }
}
