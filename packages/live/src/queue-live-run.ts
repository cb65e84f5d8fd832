import {
  type BaseAgent,
  type BaseLiveRequestQueue,
  type Blob,
  ConfigurationError,
  type Event,
  type InvocationContext,
  type LiveRequest,
  type LiveRun,
  type Platform,
  RunAbortedError,
} from '@eventloom/core';
import { isLlmAgent } from '@eventloom/llm-agent';
import { transferTargets } from '@eventloom/multi-agent';
import { CloseTimeout } from './close-timeout.ts';
import { runLiveFlow } from './live-flow.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { isOnlyStreamed } from './streamed-events.ts';

/** Time that the run waits for application code, or for a model that does not answer, after the client disconnected, in milliseconds. */
const APPLICATION_TIMEOUT_MS = 60_000;
/** Time that another run waits, when it takes the session, until the words spoken so far are stored, in milliseconds. */
const YIELD_SESSION_MS = 2000;

/** A request of the client that was checked, and stored if it is written. It may have to be sent again, by another agent. */
interface AcceptedRequest {
  /** The request as the model gets it; undefined when the model gets nothing. */
  readonly sent: LiveRequest | undefined;
  /** True when the session's history holds the request. */
  readonly isStored: boolean;
}

/** A live run whose client speaks through a queue. Holds the state that stays the same when control moves to another agent. */
export class QueueLiveRun implements LiveRun {
  readonly queue: BaseLiveRequestQueue;
  /** The requests that were accepted. */
  readonly accepted = new WeakMap<LiveRequest, AcceptedRequest>();
  /** True once a session of the model service began or was resumed: the handle in the run config is for the first one. */
  hasServiceSession = false;
  /** True between activityStart and activityEnd, when the client signals its activity itself. */
  isClientActive = false;
  /** The inputs of the tools that listen to the client, by the ids of their calls. */
  readonly #inputs = new Map<string, LiveRequestQueue>();
  readonly #yielding = Promise.withResolvers<void>();
  #yielded: PromiseWithResolvers<void> | undefined;
  #closeTimeout: CloseTimeout | undefined;
  /** Number of connections that were opened or tried. */
  connectionAttempts = 0;
  /** True while the run waits for its session. */
  #isWaiting = false;
  /** True if the client disconnected while the run waited for its session. */
  #hasLeftEarly = false;

  constructor(queue: BaseLiveRequestQueue) {
    this.queue = queue;
  }

  get clientDisconnected(): boolean {
    return this.#hasLeftEarly || this.#closeTimeout?.hasTimedOut === true;
  }

  checkAgent(agent: BaseAgent, root: BaseAgent): void {
    checkLiveAgent(agent, root, new Set());
  }

  runAgent(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (!isLlmAgent(agent))
      throw new ConfigurationError(
        `agent "${agent.name}": has neither a model nor a runLiveImpl; use an LlmAgent, or write async *runLiveImpl(context, queue) { yield … }`,
      );
    return runLiveFlow(agent, context, this);
  }

  inputStream(functionCallId: string): BaseLiveRequestQueue | undefined {
    return this.#inputs.get(functionCallId);
  }

  /** Lets the tool of a call listen to the client. */
  openInput(functionCallId: string): BaseLiveRequestQueue {
    const input = new LiveRequestQueue({ maxChars: this.queue.maxChars });
    this.#inputs.set(functionCallId, input);
    return input;
  }

  /** Ends the input of a call. */
  closeInput(functionCallId: string, input: BaseLiveRequestQueue): void {
    input.close();
    if (this.#inputs.get(functionCallId) === input) this.#inputs.delete(functionCallId);
  }

  /** Copies a piece of media to every tool that listens. A tool that reads too slowly misses the oldest pieces. */
  copyToTools(blob: Blob): void {
    for (const input of this.#inputs.values()) input.sendLatest(blob);
  }

  beginWaiting(abortSignal: AbortSignal | undefined): AbortSignal | undefined {
    const { queue } = this;
    if (queue.isClosed) return abortSignal;
    const leaving = new AbortController();
    this.#isWaiting = true;
    void queue.whenClosed().then(() => {
      if (!this.#isWaiting || queue.chars > 0) return;
      this.#hasLeftEarly = true;
      leaving.abort(new DOMException('the client hung up', 'AbortError'));
    });
    return abortSignal ? AbortSignal.any([abortSignal, leaving.signal]) : leaving.signal;
  }

  endWaiting(): void {
    this.#isWaiting = false;
  }

  async until<T>(work: Promise<T>, context: InvocationContext): Promise<T> {
    this.#closeTimeout ??= new CloseTimeout({
      context,
      queue: this.queue,
      timeoutMs: APPLICATION_TIMEOUT_MS,
      // A run that opens connections is not stuck.
      run: this,
    });
    try {
      return await this.#closeTimeout.until(work, 'a callback, a plugin, a model or an agent of the application');
    } catch (error) {
      throw this.clientDisconnected ? new RunAbortedError('the client hung up', { cause: error }) : error;
    }
  }

  isOnlyStreamed(event: Event): boolean {
    return isOnlyStreamed(event);
  }

  async yieldSession(platform: Platform): Promise<void> {
    this.#yielded ??= Promise.withResolvers();
    this.#yielding.resolve();
    const callOff = platform.schedule(YIELD_SESSION_MS, this.#yielded.resolve);
    await this.#yielded.promise;
    callOff();
  }

  /** Resolves when another run takes the session. */
  whenToYieldSession(): Promise<void> {
    return this.#yielding.promise;
  }

  /** Reports that the speech so far is stored. */
  sessionYielded(): void {
    this.#yielded?.resolve();
  }

  close(): void {
    this.queue.close();
  }
}

/**
 * Checks an agent and all agents that control may move to from there, so that no call ends at a transfer.
 * @throws ConfigurationError for an agent that cannot run live
 */
function checkLiveAgent(agent: BaseAgent, root: BaseAgent, checked: Set<BaseAgent>): void {
  if (checked.has(agent)) return;
  checked.add(agent);
  if (!agent.canRunLive)
    throw new ConfigurationError(
      checked.size === 1
        ? `runLive: agent "${agent.name}" does not support live runs; write an LlmAgent, a SequentialAgent of LLM agents, or an agent class with runLiveImpl in its place`
        : `runLive: agent "${agent.name}" can take over the call, but does not support live runs; remove it from the tree`,
    );
  if (isLlmAgent(agent) && agent.outputSchema !== undefined)
    throw new ConfigurationError(
      `runLive: agent "${agent.name}" has an outputSchema, which live runs do not support; remove it`,
    );
  // Other kinds of agents decide themselves which sub-agents they run.
  const next = agent.transferRules
    ? transferTargets(agent, root)
    : agent.subAgents.filter(({ canRunLive }) => canRunLive);
  for (const other of next) checkLiveAgent(other, root, checked);
}
