import type { TraceHeaders } from '../instrumentation/instrumentation.ts';
import type { BaseAgent } from '../agent/base-agent.ts';
import type { RunBounds, RunConfig } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import type { Platform } from '../platform/platform.ts';
import type { BaseLiveRequestQueue } from './live-request-queue.ts';

/** The parameters of a live run. */
export interface RunLiveParams {
  /** The app of the runner, for callers that pass a whole session key; another app is refused. */
  readonly appName?: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  /** The client's input, before and during the run. A queue serves one run; closing it ends the run. */
  readonly liveRequestQueue: BaseLiveRequestQueue;
  readonly runConfig?: RunConfig | undefined;
  /** Applied over `runConfig` and the runner's defaults. */
  readonly bounds?: RunBounds | undefined;
  /**
   * Added to `customMetadata` of every event of the run. Wins over `runConfig.customMetadata`; keys that an event sets
   * itself win over both.
   */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the run, which then throws RunAbortedError. */
  readonly abortSignal?: AbortSignal | undefined;
  /** Trace headers of the request that asks for the run; see `RunAsyncParams.traceHeaders`. */
  readonly traceHeaders?: TraceHeaders | undefined;
}

/** The part of a runner that the check of a live run's parameters needs. */
export interface LiveRunHost {
  readonly appName: string;
  readonly artifactService: BaseArtifactService | undefined;
}

/** The ability of a runner to run agents live. Made by `live()` of `@eventloom/live`. */
export interface LiveSupport {
  /**
   * Checks the parameters of a live run, and claims its queue, unless it throws: then the queue can serve another run. A queue that was
   * claimed serves no other run, also if its run cannot begin.
   * @throws ConfigurationError for an unknown parameter, for one that the runner does not support, and for a queue that serves or
   * served another run
   */
  claimQueue(params: RunLiveParams, host: LiveRunHost): LiveRun;
}

/** The live part of one run: runs agents live, limits the wait after the client has disconnected, and decides which events are stored. */
export interface LiveRun {
  readonly queue: BaseLiveRequestQueue;

  /** True once the client has disconnected and the run gave up waiting for unfinished work. Such a run ends without an error. */
  readonly clientDisconnected: boolean;

  /**
   * Checks that an agent, and every agent that it may transfer to, can run live.
   *
   * @param root root of the tree that runs
   * @throws ConfigurationError
   */
  checkAgent(agent: BaseAgent, root: BaseAgent): void;

  /**
   * Runs an agent without its own `runLiveImpl`: an LlmAgent, whose model talks to the client.
   *
   * @throws ConfigurationError for an agent of another kind
   */
  runAgent(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void>;

  /** The media that the client sends while a tool with `inputStream` runs; undefined before and after the call, and for other tools. */
  inputStream(functionCallId: string): BaseLiveRequestQueue | undefined;

  /**
   * Returns the signal that ends the wait for the session: the caller's, and until `endWaiting` also the end of the
   * connection of a client that has sent nothing.
   */
  beginWaiting(abortSignal: AbortSignal | undefined): AbortSignal | undefined;

  /** Called once the session is locked, or the wait for it has failed. */
  endWaiting(): void;

  /** Waits for application code like `context.untilAborted`; at most one minute after the client has disconnected. */
  until<T>(work: Promise<T>, context: InvocationContext): Promise<T>;

  /** True for an event that is streamed and never stored: raw media, and resumption handles of the model service. */
  isOnlyStreamed(event: Event): boolean;

  /** Prepares for another run that takes the session: resolves once the speech so far is stored, or after two seconds. */
  yieldSession(platform: Platform): Promise<void>;

  /** Closes the client's queue. Called once, after the run has ended. */
  close(): void;
}
