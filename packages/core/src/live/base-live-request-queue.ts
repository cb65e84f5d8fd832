import type { BaseAgent } from '../agent/base-agent.ts';
import type { Blob, Content, FunctionResponse } from '../content/content.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError, InvalidMessageError, LiveQueueFullError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { Platform } from '../platform/platform.ts';
import { checkLiveRun } from './check-live-run.ts';
import { Fifo } from './fifo.ts';
import { isLiveMedia } from './is-live-media.ts';
import { isResumptionUpdate } from './is-resumption-update.ts';
import type { LiveRequest } from './live-request.ts';
import type { LiveRun } from './live-run.ts';
import type { LiveRunHost, RunLiveParams } from './run-live-params.ts';

/** Options of a queue. */
export interface LiveRequestQueueOptions {
  /** What may wait in the queue, in characters of base64 and text. Default 4 Mi: a minute and a half of 16 kHz PCM. */
  readonly maxChars?: number | undefined;
}

const DEFAULT_MAX_CHARS = 4 * 1024 * 1024;
/** What a request counts for beside what it says. */
const OVERHEAD_CHARS = 64;
/** What a run gets to store what was said so far, when another one takes its session over. */
const YIELD_SESSION_MS = 2000;

interface Waiting {
  readonly request: LiveRequest;
  readonly chars: number;
}

/**
 * What a client says in a call, in the order in which it was said. One queue serves one run, and moves with it from agent to agent
 * and from connection to connection. Bounded: a send that does not fit throws, and nothing is dropped.
 *
 * It brings along what runs agents live: who makes no queue has nothing of that in its bundle. Made by `new LiveRequestQueue()`.
 */
export abstract class BaseLiveRequestQueue implements LiveRun {
  /** What may wait, as in the options. */
  readonly maxChars: number;
  /** What is said here, once more for each tool that listens to it, by the id of its call: there from the call to its end. */
  readonly activeStreamingTools: Map<string, BaseLiveRequestQueue> = new Map();
  readonly #waiting = new Fifo<Waiting>();
  #chars = 0;
  #isTaken = false;
  #ready: PromiseWithResolvers<void> | undefined;
  readonly #closed: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #leaving: PromiseWithResolvers<void> = Promise.withResolvers();
  #left: PromiseWithResolvers<void> | undefined;

  constructor(options: LiveRequestQueueOptions = {}) {
    const { maxChars = DEFAULT_MAX_CHARS } = options;
    if (!Number.isInteger(maxChars) || maxChars < 1)
      throw new ConfigurationError('LiveRequestQueue: maxChars must be a positive integer');
    this.maxChars = maxChars;
  }

  /** True once `close` was called: nothing can be sent any more. */
  get isClosed(): boolean {
    return this.#waiting.isEnded;
  }

  /** Characters that wait to be read. */
  get chars(): number {
    return this.#chars;
  }

  /** True while contents or answers to calls wait, and not only what is live. */
  get holdsWritten(): boolean {
    return this.#waiting.values().some(({ request }) => 'content' in request || 'toolResponses' in request);
  }

  /** A whole turn of the user's. @throws LiveQueueFullError InvalidMessageError when it is closed, or the content has no parts */
  sendContent(content: Content): void {
    if (!Array.isArray(content.parts) || content.parts.length === 0)
      throw new InvalidMessageError('LiveRequestQueue.sendContent: the content has no parts');
    this.#send({ content }, JSON.stringify(content).length);
  }

  /** A piece of audio or video, base64. @throws LiveQueueFullError InvalidMessageError when it is closed, or the blob lacks data or a type */
  sendRealtime(blob: Blob): void {
    if (typeof blob.data !== 'string' || typeof blob.mimeType !== 'string')
      throw new InvalidMessageError('LiveRequestQueue.sendRealtime: the blob has no data or no mimeType');
    this.#send({ blob }, blob.data.length);
  }

  /** @throws LiveQueueFullError InvalidMessageError when it is closed */
  sendActivityStart(): void {
    this.#send({ activityStart: true }, 0);
  }

  /** @throws LiveQueueFullError InvalidMessageError when it is closed */
  sendActivityEnd(): void {
    this.#send({ activityEnd: true }, 0);
  }

  /** Answers to calls that wait. @throws LiveQueueFullError InvalidMessageError when it is closed, or there are none */
  sendToolResponse(...toolResponses: FunctionResponse[]): void {
    if (toolResponses.length === 0)
      throw new InvalidMessageError('LiveRequestQueue.sendToolResponse: there is no response');
    this.#send({ toolResponses }, JSON.stringify(toolResponses).length);
  }

  /** Ends the call when all that was sent before is read. A second call is a no-op. Its run closes the queue as well, at its end. */
  close(): void {
    this.#waiting.end();
    this.#settleReady();
    this.#closed.resolve();
  }

  /** Settles when the queue is closed; at once when it is. */
  whenClosed(): Promise<void> {
    return this.#closed.promise;
  }

  /**
   * Settles when the queue is less than half full, at once when it is so already, and when the queue is closed. What is sent next is taken then
   * if it has at most half of `maxChars`, of which 64 are counted for every request beside what it says. Nothing is set aside: with several
   * producers, another's send may come first.
   */
  ready(): Promise<void> {
    if (this.isClosed || this.#chars < this.maxChars / 2) return Promise.resolve();
    this.#ready ??= Promise.withResolvers();
    return this.#ready.promise;
  }

  /**
   * The oldest request, which stays in the queue until `shift`: a reader takes it out when it was sent, so that none is lost with a
   * connection. Undefined when the queue is closed and empty. For one reader at a time.
   * @throws the signal's reason when it fires before there is one
   */
  async peek(abortSignal: AbortSignal): Promise<LiveRequest | undefined> {
    return (await this.#waiting.peek(abortSignal))?.request;
  }

  /** Takes the oldest request out. */
  shift(): void {
    this.#chars -= this.#waiting.shift()?.chars ?? 0;
    if (this.#chars < this.maxChars / 2) this.#settleReady();
  }

  /** As `sendRealtime`, but the oldest gives way where there is no room: what is live is worth more. Of no effect when it is closed. */
  sendLatest(blob: Blob): void {
    while (!this.isClosed) {
      try {
        return this.sendRealtime(blob);
      } catch (error) {
        if (!LiveQueueFullError.isInstance(error) || this.#chars === 0) throw error;
        this.shift();
      }
    }
  }

  /** An empty queue with the same bound, for a tool that is to hear what is said here. */
  abstract createInput(): BaseLiveRequestQueue;

  /** Checks what a live run is given, and is the run's from now on. @throws ConfigurationError, also when it serves another run */
  beginRun(params: RunLiveParams, host: LiveRunHost): void {
    checkLiveRun(params, host);
    if (this.#isTaken) throw new ConfigurationError('runLive: the liveRequestQueue serves another run; make a new one');
    this.#isTaken = true;
  }

  /** Another run is about to take the session over. Settles when what was said so far is stored, or after two seconds. */
  async yieldSession(platform: Platform): Promise<void> {
    this.#left ??= Promise.withResolvers();
    this.#leaving.resolve();
    const callOff = platform.schedule(YIELD_SESSION_MS, this.#left.resolve);
    await this.#left.promise;
    callOff();
  }

  /** Settles when the run is to make way for another one. */
  whenToYieldSession(): Promise<void> {
    return this.#leaving.promise;
  }

  /** What was said so far is stored. */
  sessionYielded(): void {
    this.#left?.resolve();
  }

  /**
   * @param root the top of the tree that is run
   * @throws ConfigurationError for an agent that cannot run live, and for one that may hand over to such
   */
  abstract checkAgent(agent: BaseAgent, root: BaseAgent): void;

  /** One agent's part of a live run whose model is spoken with by this queue. @throws ConfigurationError for an agent that is no LlmAgent */
  abstract runAgent(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void>;

  /** The run waits for its session. It is let go of when the queue is closed meanwhile and holds nothing. */
  abstract whileWaiting<T>(
    wait: (signal: AbortSignal | undefined) => Promise<T>,
    abortSignal: AbortSignal | undefined,
  ): Promise<T>;

  /**
   * A wait of the run for its next event, or for a plugin: as `context.untilAborted`, and a minute at most when the queue is closed. Then the run is
   * let go of.
   */
  abstract until<T>(work: Promise<T>, context: InvocationContext): Promise<T>;

  /** True when the run was let go of, because the client hung up and something did not settle. It ends without an error. */
  abstract get clientDisconnected(): boolean;

  /** True for an event of the run that its reader gets and no session: raw media, and handles of the service's. */
  isOnlyStreamed(event: Event): boolean {
    return isLiveMedia(event) || isResumptionUpdate(event);
  }

  /** Takes out one request after the other until the queue is closed and empty. For one reader, in place of `peek`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<LiveRequest, void, void> {
    for (let waiting = await this.#waiting.peek(); waiting; waiting = await this.#waiting.peek()) {
      this.shift();
      yield waiting.request;
    }
  }

  #send(request: LiveRequest, size: number): void {
    if (this.isClosed) throw new InvalidMessageError('LiveRequestQueue: is closed; a new call needs a new queue');
    const chars = size + OVERHEAD_CHARS;
    if (this.#chars + chars > this.maxChars) {
      throw new LiveQueueFullError(
        chars > this.maxChars
          ? `what is sent has ${chars} characters, and the live queue takes ${this.maxChars}: send it in smaller pieces`
          : `the live queue holds ${this.#chars} characters of ${this.maxChars}, and ${chars} more do not fit: ${chars > this.maxChars / 2 ? 'send it in smaller pieces, of half of that at most, and ' : ''}wait for ready()`,
      );
    }
    this.#waiting.push({ request, chars });
    this.#chars += chars;
  }

  #settleReady(): void {
    this.#ready?.resolve();
    this.#ready = undefined;
  }
}
