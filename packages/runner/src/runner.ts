import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BaseSessionService,
  type Event,
  type Instrumentation,
  type LiveSupport,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type Platform,
  type RunConfigDefaults,
  type RunLiveParams,
  systemPlatform,
  closeAll,
} from '@eventloom/core';
import {
  checkOptions,
  combineInstrumentation,
  newInvocationId,
  type OptionRules,
  PluginManager,
} from '@eventloom/core/internal';
import { EventsCompactor } from '@eventloom/llm-agent/internal';
import { OpenToolsets } from './open-toolsets.ts';
import { rewind, type RewindParams } from './rewind.ts';
import { cancelRun, type CancelRunParams, closeRun, type CloseRunParams } from './stored-runs/close-run.ts';
import { RunControl, toEventsPromise } from './run-control.ts';
import type { RunStream } from './run-stream.ts';
import type { RunAsyncParams } from './run-request.ts';
import { checkRunnerConfig, defaultsOf, type RunnerConfig } from './runner-config.ts';
import { SessionLocks } from './session-locks.ts';

/**
 * Runs an agent: takes a message of a user, stores it in a session, lets the agent answer, and stores and yields each event of the answer.
 * An event is stored before the agent continues, and before the caller gets it. One runner serves any number of sessions and users at the
 * same time; runs of one session follow each other.
 *
 * `runAsync` returns the events as a stream, `run` as an array. A caller that leaves the loop early ends the run.
 *
 * @example
 * const runner = new Runner({
 *   appName: 'helpdesk',
 *   agent,
 *   sessionService: new InMemorySessionService(),
 *   models: geminiModels({ apiKey }),
 *   autoCreateSession: true,
 * });
 * for await (const event of runner.runAsync({ userId: 'ada', sessionId: 's1', newMessage: 'Hello' })) {
 *   if (isFinalResponse(event) && event.content) console.log(stringifyContent(event));
 * }
 */
export class Runner {
  /** Name of the app: sessions, artifacts and memories are stored under it. */
  readonly appName: string;
  /** The agent that gets the messages. */
  readonly agent: BaseAgent;
  /** Stores the sessions. */
  readonly sessionService: BaseSessionService;
  /** Stores files of sessions and users; undefined if the runner has none. */
  readonly artifactService: BaseArtifactService | undefined;
  /** Stores earlier conversations for searches; undefined if the runner has none. */
  readonly memoryService: BaseMemoryService | undefined;
  /** Stores credentials of users; undefined if the runner has none. */
  readonly credentialService: BaseCredentialService | undefined;
  /** The plugins of the runner. */
  readonly pluginManager: PluginManager;
  /** @internal */
  readonly instrumentation: Instrumentation | undefined;
  /** @internal */
  readonly live: LiveSupport | undefined;
  /** @internal */
  readonly models: RunnerConfig['models'];
  /** @internal */
  readonly contextCacheConfig: RunnerConfig['contextCacheConfig'];
  /** Clock, ids, random numbers, timers and background work. */
  readonly platform: Platform;
  /** @internal */
  readonly requestTtlMs: number | undefined;
  /** Defaults for options that a run does not set. */
  readonly runConfig: RunConfigDefaults;
  /** Locks and reads sessions, for `run.ts`, rewinds and the closing of runs. @internal */
  readonly sessions: SessionLocks;
  /** The toolsets of the agents, which are closed while no run is active; undefined if no agent has one. @internal */
  readonly toolsets: OpenToolsets | undefined;
  /** Compacts a session at the end of a run, if the runner is configured to. @internal */
  readonly compactor: EventsCompactor | undefined;
  /**
   * True to yield chunks that agents of the program make also in runs without `StreamingMode.SSE`. The Runner of
   * `@eventloom/adk` overrides it.
   * @internal
   */
  readonly yieldsAllChunks: boolean = false;

  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(config: RunnerConfig) {
    checkRunnerConfig(config);
    this.appName = config.appName;
    this.agent = config.agent;
    this.sessionService = config.sessionService;
    this.artifactService = config.artifactService;
    this.memoryService = config.memoryService;
    this.credentialService = config.credentialService;
    this.requestTtlMs = config.requestTtlMs;
    this.runConfig = defaultsOf(config);
    this.pluginManager = new PluginManager(config.plugins);
    this.live = config.live;
    this.models = config.models;
    this.contextCacheConfig = config.contextCacheConfig;
    this.platform = config.platform ?? systemPlatform;
    this.instrumentation = combineInstrumentation([config.instrumentation ?? []].flat(), this.platform);
    this.compactor = config.eventsCompaction && new EventsCompactor(config.eventsCompaction);
    this.toolsets = OpenToolsets.of(config.agent, this.platform);
    this.sessions = new SessionLocks(this, config);
  }

  /**
   * Runs the agent on the user's message and yields the events of the run. With an `invocationId` it resumes that run
   * instead. Responses to calls continue the run that made the calls, if that run is resumable and has no end;
   * otherwise they start a run of the agent that made them.
   *
   * The stream throws, before anything is written: ConfigurationError, InvalidMessageError, InvalidRequestError (a run
   * that cannot be resumed), RunNotFoundError, UnfinishedRunError, RequestKnownError, StateKeyError, StateValueError,
   * SessionNotFoundError, SessionBusyError, or AgentError around the error of a plugin's `onUserMessageCallback`.
   * Later: RunAbortedError after an abort, StaleWriterError when another writer took the session, and otherwise, after
   * an error event, the error that ended the run: an AgentError around an error that is not Eventloom's own, a
   * ModelError if a model threw it.
   */
  runAsync(params: RunAsyncParams): RunStream {
    const invocationId = params?.invocationId ?? newInvocationId(this.platform);
    return new RunControl(this, { method: 'runAsync', params }, invocationId);
  }

  /**
   * Runs the agent live, by voice, video or text: the client sends through a `LiveRequestQueue`, the agent answers in the events of the
   * stream, and both may speak at any time. The whole call is one run, and keeps the session locked. Events are yielded as they come; whole
   * events are stored, raw audio and images are not. `liveRequestQueue.close()` ends the call, as does an agent that ends the run.
   *
   * @throws ConfigurationError if the runner has no live support (the `Runner` of `eventloom` has it)
   * @throws LiveConnectionError if the service refuses the connection, or if it is lost too often in a row
   * @throws the errors of `runAsync`
   */
  runLive(params: RunLiveParams): RunStream {
    return new RunControl(this, { method: 'runLive', params }, newInvocationId(this.platform));
  }

  /**
   * Returns the agent that answers to calls go to if their run cannot continue: the one that made the calls. The Runner of
   * `@eventloom/adk` overrides it.
   * @internal
   */
  agentForAnswers(asking: BaseAgent): BaseAgent {
    return asking;
  }

  /** Runs the agent as `runAsync` does, and resolves to all events of the run when it has ended. Rejects with the errors of `runAsync`. */
  run(params: RunAsyncParams): Promise<Event[]> {
    return toEventsPromise(collect(this.runAsync(params)));
  }

  /**
   * Takes a session back to the moment before an invocation: appends an event that makes every reader skip the invocation's first event and
   * everything after it. The session's own state is restored, keys that it was created with included. An artifact of the session that was
   * saved since gets its earlier content as a new version; one that did not exist is deleted with all its versions. State and artifacts of
   * the user and the app stay, because other sessions share them. An unfinished run that is undone is closed first, as by `closeRun`.
   *
   * If an artifact cannot be restored because its store fails, the rewind is valid all the same: the next run or rewind of the session
   * restores it first, or throws the error of the store. Safe to repeat. It reads the whole history of the session, in pages.
   *
   * @returns the event as it was stored
   * @throws InvalidRequestError when the session has no such invocation, or an artifact cannot be restored; nothing is changed
   * @throws ConfigurationError when artifacts were saved and the runner has no artifact service; nothing is changed
   * @throws SessionNotFoundError, SessionBusyError, StaleWriterError, RunAbortedError, and errors of the services; nothing is changed
   */
  rewindAsync(params: RewindParams): Promise<Event> {
    return rewind(this, params);
  }

  /**
   * Lists a page of the app's runs that have not ended: those in progress in any process, and those whose process was lost. Continue the
   * latter with `runAsync({ userId, sessionId, invocationId })` if they are `resumable`, or end them with `closeRun`.
   *
   * @throws InvalidRequestError for a cursor of another service, or a limit that is not a positive integer
   */
  async listOpenRuns(request: Omit<ListOpenRunsRequest, 'appName'> = {}): Promise<ListOpenRunsResponse> {
    checkOptions('listOpenRuns', OPEN_RUNS, request, {}, 'listOpenRuns({ limit: 10 })');
    const { limit, cursor } = request;
    return this.sessionService.listOpenRuns({ appName: this.appName, limit, cursor });
  }

  /**
   * Ends an unfinished run without completing it. Its session gets an error event with the code `RUN_ABANDONED`, and a response for each
   * open call: the result if the call was finished, otherwise `{ error: 'interrupted' }`. Answers to its long-running calls and requests
   * are still accepted; they start a new run.
   *
   * @returns the error event; undefined if the run has already ended, or does not belong to the session
   * @throws SessionNotFoundError, SessionBusyError, RunAbortedError
   * @throws UnfinishedRunError if another run is open
   * @throws StaleWriterError if another writer took the session
   */
  closeRun(params: CloseRunParams): Promise<Event | undefined> {
    return closeRun(this, params);
  }

  /**
   * Ends a run for good. Its session gets an error event with the code `RUN_ABORTED`, and a response for each open call, as with
   * `closeRun`. A run that waits for answers is ended as well: each call that waits gets the response `{ error: 'cancelled' }`, and a later
   * answer to it is refused with an InvalidMessageError. All of it is stored together.
   *
   * @returns the error event; undefined if the run has ended and waits for nothing, or does not belong to the session
   * @throws the errors of `closeRun`
   */
  cancelRun(params: CancelRunParams): Promise<Event | undefined> {
    return cancelRun(this, params);
  }

  /** Closes the agent's toolsets and the plugins. Call it when no run is in progress. Closes all of them, then throws the first error. */
  close(): Promise<void> {
    return closeAll([this.agent, ...this.pluginManager.plugins]);
  }
}

// The values are checked when they are used, with errors of the class InvalidRequestError or InvalidMessageError.
const OPEN_RUNS: OptionRules<Omit<ListOpenRunsRequest, 'appName'>> = { limit: 'any', cursor: 'any' };

async function collect(stream: RunStream): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
