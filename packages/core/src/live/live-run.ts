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
  /** The client's input, before and during the run. For this run alone; closing it ends the run. */
  readonly liveRequestQueue: BaseLiveRequestQueue;
  readonly runConfig?: RunConfig | undefined;
  /** Applied over `runConfig` and the runner's defaults. */
  readonly bounds?: RunBounds | undefined;
  /** Put under `customMetadata` of every event of the run, over `runConfig.customMetadata`; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the run, which then throws RunAbortedError. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** The runner of a live run: what the parameters of the run are checked against. */
export interface LiveRunHost {
  readonly appName: string;
  readonly artifactService: BaseArtifactService | undefined;
}

/** The ability of a runner to run agents live. Made by `live()` of `@eventloom/live`. */
export interface LiveSupport {
  /**
   * Checks the parameters of a live run, and takes its queue. A queue that is refused can serve another run.
   * @throws ConfigurationError for a parameter that live runs do not have, for one that the runner cannot serve, and for a queue that serves
   * another run
   */
  startRun(params: RunLiveParams, host: LiveRunHost): LiveRun;
}

/** The live side of one run: runs agents live, decides how long the run waits for a client that left, and which events are stored. */
export interface LiveRun {
  readonly queue: BaseLiveRequestQueue;

  /** True once the client left and the run stopped waiting for something that did not settle. Such a run ends without an error. */
  readonly clientDisconnected: boolean;

  /**
   * Checks that an agent, and every agent that it may transfer to, can run live.
   *
   * @param root the top of the tree that is run
   * @throws ConfigurationError
   */
  checkAgent(agent: BaseAgent, root: BaseAgent): void;

  /**
   * Runs an agent that has no `runLiveImpl` of its own: an LlmAgent, whose model speaks with the client.
   *
   * @throws ConfigurationError for an agent of another kind
   */
  runAgent(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void>;

  /** The media that the client sends while a tool with `inputStream` runs; undefined before and after the call, and for other tools. */
  inputStream(functionCallId: string): BaseLiveRequestQueue | undefined;

  /** Waits for the session. Gives up when the client leaves meanwhile and has sent nothing. */
  whileWaiting<T>(
    wait: (signal: AbortSignal | undefined) => Promise<T>,
    abortSignal: AbortSignal | undefined,
  ): Promise<T>;

  /** Waits for application code as `context.untilAborted` does, and for a minute at most once the client has left. */
  until<T>(work: Promise<T>, context: InvocationContext): Promise<T>;

  /** True for an event that is streamed and never stored: raw media, and resumption handles of the model service. */
  isOnlyStreamed(event: Event): boolean;

  /** Resolves when the words that were said so far are stored, or after two seconds, because another run takes the session. */
  yieldSession(platform: Platform): Promise<void>;

  /** Tells the client that nobody listens any more. Called once, when the run has ended. */
  close(): void;
}
