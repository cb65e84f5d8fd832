import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BaseSessionService,
  closeAll,
  type Event,
  type Instrumentation,
  type LiveSupport,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type Platform,
  PluginManager,
  type RunConfigDefaults,
  type RunLiveParams,
  type SessionKey,
  systemPlatform,
} from '@eventloom/core';
import { combineInstrumentation } from '@eventloom/core/internal';
import { EventsCompactor } from '@eventloom/llm-agent/internal';
import { findAnsweredRun, type FindAnsweredRunParams } from './answered-run.ts';
import { answeredCallIds, checkNewMessage } from './run-message.ts';
import { rewind, type RewindParams } from './rewind.ts';
import { closeRun, type CloseRunParams } from './resume/close-run.ts';
import { RunControl, type RunStream } from './run-stream.ts';
import type { RunAsyncParams } from './run-start.ts';
import { checkRunnerConfig, defaultsOf, type RunnerConfig } from './runner-config.ts';
import { SessionLocks } from './session-locks.ts';

/**
 * Runs an agent in sessions. A runner serves any number of runs at once; the runs of one session follow each other.
 *
 * A run locks the session, stores the user's message and drives the agent: each event is stored before the agent continues and before
 * it is yielded. A reader that stops reading ends the run. (ADK runtime document, "event loop".)
 */
export class Runner {
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly sessionService: BaseSessionService;
  readonly artifactService: BaseArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  readonly credentialService: BaseCredentialService | undefined;
  readonly pluginManager: PluginManager;
  readonly instrumentation: Instrumentation | undefined;
  readonly live: LiveSupport | undefined;
  readonly models: RunnerConfig['models'];
  readonly contextCacheConfig: RunnerConfig['contextCacheConfig'];
  readonly platform: Platform;
  readonly requestTtlMs: number | undefined;
  /** The options of runs that are not given others. */
  readonly runConfig: RunConfigDefaults;
  /** Locks and reads sessions, for `run.ts`, rewinds and the closing of runs. */
  readonly sessions: SessionLocks;
  /** Compacts a session at the end of a run, if the runner is configured to. */
  readonly compactor: EventsCompactor | undefined;

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
    this.sessions = new SessionLocks(this, config);
  }

  /**
   * Runs the agent on the user's message and yields the events of the run. With an `invocationId` it resumes that run instead. Responses to
   * calls continue the run that made the calls, if that run is resumable and open; otherwise they start a run of the agent that made them.
   *
   * The stream throws, before anything is written: ConfigurationError, InvalidMessageError, InvalidRequestError (a run that cannot be
   * resumed), RunNotFoundError, UnfinishedRunError, RequestKnownError, StateKeyError, StateValueError, SessionNotFoundError,
   * SessionBusyError, or AgentError around the error of a plugin's
   * `onUserMessageCallback`. Later: RunAbortedError after an abort, StaleWriterError when another writer took the session, and otherwise,
   * after an error event, the error that ended the run: an AgentError around an error that is not Eventloom's own, a ModelError if a model threw it.
   */
  runAsync(params: RunAsyncParams): RunStream {
    const invocationId = params?.invocationId ?? `e-${this.platform.newUuid()}`;
    return new RunControl(this, { method: 'runAsync', params }, invocationId);
  }

  /**
   * Runs the agent live: the client sends through its queue, the agent answers through the events of the stream, and both may speak at any
   * time. The whole call is one invocation, and keeps the session locked. Events are yielded as they come; complete events are stored, raw
   * media is not. The stream ends when the queue is closed and read, and when an agent ends the invocation.
   *
   * Needs `live` in the runner's configuration, and throws ConfigurationError without it. Throws as `runAsync` does otherwise, and
   * LiveConnectionError when the service refuses the connection or too many in a row are lost.
   */
  runLive(params: RunLiveParams): RunStream {
    return new RunControl(this, { method: 'runLive', params }, `e-${this.platform.newUuid()}`);
  }

  /** Runs the agent as `runAsync` does and resolves to all events of the run. Rejects with what the stream throws. */
  async run(params: RunAsyncParams): Promise<Event[]> {
    const events: Event[] = [];
    for await (const event of this.runAsync(params)) events.push(event);
    return events;
  }

  /**
   * Takes a session back to the moment before an invocation: appends an event that makes every reader skip the invocation's first event and
   * everything after it. The session's own state is restored, keys that it was created with included. An artifact of the session that was
   * saved since gets its earlier content as a new version; one that did not exist is deleted with all its versions. State and artifacts of
   * the user and the app stay, because other sessions share them.
   *
   * The event decides. Artifacts are in a store of their own and follow it: restorations that failed are reported to the platform and kept
   * in the session's state under `eventloom.artifactsToRestore`, and the next run or rewind does them first or throws what the store throws.
   * A second event names the new versions. Reads the history from its beginning, in pages, while it holds the session. Safe to repeat.
   *
   * @returns the event as it was stored
   * @throws InvalidRequestError when the session has no such invocation, or an artifact cannot be restored; nothing is changed
   * @throws ConfigurationError when artifacts were saved and the runner has no artifact service; nothing is changed
   * @throws SessionNotFoundError SessionBusyError StaleWriterError RunAbortedError and what the services throw; nothing is changed
   */
  rewindAsync(params: RewindParams): Promise<Event> {
    return rewind(this, params);
  }

  /**
   * Finds the run that `runAsync` continues when it gets this message without an `invocationId`: the open, resumable run that made the calls
   * which the message answers. Resolves to undefined for a message that starts a run.
   *
   * @throws InvalidMessageError for an invalid message, and for answers to calls of several runs
   * @throws SessionNotFoundError
   */
  async findAnsweredRun({ userId, sessionId, newMessage }: FindAnsweredRunParams): Promise<string | undefined> {
    const key: SessionKey = { appName: this.appName, userId, sessionId };
    const callIds = answeredCallIds(checkNewMessage(newMessage));
    if (callIds.length === 0) return undefined;
    return findAnsweredRun(this.sessionService, key, callIds);
  }

  /**
   * Lists a page of the app's open runs: those that are under way in any process, and those that a process left when it ended. Resume the
   * latter with `runAsync({ userId, sessionId, invocationId })` if they are `resumable`, or give them up with `closeRun`.
   *
   * @throws InvalidRequestError for a cursor of another service, or a limit that is not a positive integer
   */
  listOpenRuns(request: Omit<ListOpenRunsRequest, 'appName'> = {}): Promise<ListOpenRunsResponse> {
    const { limit, cursor } = request;
    return this.sessionService.listOpenRuns({ appName: this.appName, limit, cursor });
  }

  /**
   * Closes a run that has not ended, so that it is never resumed. Appends responses to its calls that have no result (the ledger's result of a
   * finished call, otherwise `{error: 'interrupted'}`), an error event with the code `RUN_ABANDONED`, and the end of a resumable run. A call that waits for a
   * person has no result either once every request about it is answered. Long-running calls and other requests can still be answered, in a
   * new run.
   *
   * @returns the error event; undefined for a run that has ended, or does not belong to the session. No other run is touched
   * @throws SessionNotFoundError SessionBusyError RunAbortedError; UnfinishedRunError when another run is open; StaleWriterError when another
   * writer took the session
   */
  closeRun(params: CloseRunParams): Promise<Event | undefined> {
    return closeRun(this, params);
  }

  /** Closes the agent's toolsets and the plugins: all of them, then the first error is thrown. Call it when no run is under way. */
  close(): Promise<void> {
    return closeAll([this.agent, ...this.pluginManager.plugins]);
  }
}
