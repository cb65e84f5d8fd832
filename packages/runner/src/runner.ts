import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BaseSessionService,
  closeAll,
  type Event,
  EventsCompactor,
  type GetSessionConfig,
  type Instrumentation,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type Platform,
  PluginManager,
  type RunLiveParams,
  type SessionKey,
  systemPlatform,
} from '@eventloom/core';
import { combineInstrumentation } from '@eventloom/core/internal';
import { findAnsweredRun, type FindAnsweredRunParams } from './answered-run.ts';
import { checkNewMessage } from './new-message.ts';
import { rewind, type RewindParams } from './rewind.ts';
import { run } from './run.ts';
import { RunControl } from './run-control.ts';
import { closeRun, type CloseRunParams } from './resume/close-run.ts';
import { EventRunStream, type RunStream } from './run-stream.ts';
import type { RunAsyncParams } from './run-params.ts';
import { answeredCallIds, type RunInput } from './run-start.ts';
import { checkRunnerConfig, type RunnerConfig } from './runner-config.ts';
import { SessionLocks } from './session-locks.ts';

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
  readonly instrumentation: Instrumentation | undefined;
  readonly models: RunnerConfig['models'];
  readonly contextCacheConfig: RunnerConfig['contextCacheConfig'];
  readonly platform: Platform;
  readonly requestTtlMs: number | undefined;
  /** What goes for runs that do not say whether they can be resumed. */
  readonly resumable: boolean;
  /** What goes for runs that do not say which of the session's events they read. */
  readonly getSessionConfig: GetSessionConfig | undefined;
  /** For the run loop. */
  readonly sessions: SessionLocks;
  /** For the run loop. */
  readonly compactor: EventsCompactor | undefined;

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
    this.instrumentation = combineInstrumentation([config.instrumentation ?? []].flat());
    this.models = config.models;
    this.contextCacheConfig = config.contextCacheConfig;
    this.platform = config.platform ?? systemPlatform;
    this.compactor = config.eventsCompaction && new EventsCompactor(config.eventsCompaction);
    this.sessions = new SessionLocks(this, config);
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
    return this.#start({ method: 'runAsync', params }, params?.invocationId);
  }

  /**
   * Runs the agent live: both sides speak when they like, the client by its queue, the agent by the events of the stream. One
   * invocation for the whole call; the session is taken for as long as it lasts. Yields what comes as it comes. Stored is what is whole and not
   * raw media. Ends when the queue is closed and read, and when an agent ends the invocation.
   *
   * Throws as `runAsync` does, and LiveConnectionError when the service refuses the connection or too many in a row are lost.
   */
  runLive(params: RunLiveParams): RunStream {
    return this.#start({ method: 'runLive', params });
  }

  #start(input: RunInput, invocationId = `e-${this.platform.newUuid()}`): RunStream {
    const control = new RunControl(this, invocationId, input.params?.abortSignal);
    return new EventRunStream(control, run(this, input, control));
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
    return rewind(this, params);
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
    return closeRun(this, params);
  }

  /** Closes the agent's toolsets and the plugins, all of them, and then throws what the first threw that failed. No run may be under way. */
  close(): Promise<void> {
    return closeAll([this.agent, ...this.pluginManager.plugins]);
  }
}
