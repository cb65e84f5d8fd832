import {
  type BaseLiveRequestQueue,
  type Blob,
  ConfigurationError,
  type Content,
  type FunctionResponse,
  InvalidMessageError,
  LiveQueueFullError,
  type LiveRequest,
} from '@eventloom/core';
import { Fifo, type OptionRules, checkOptions, describeKind } from '@eventloom/core/internal';

/** Options of a `LiveRequestQueue`. */
export interface LiveRequestQueueOptions {
  /**
   * Maximum size of the queued requests, in characters of base64 and text. Default 4,194,304, which is about 90 seconds
   * of 16 kHz PCM audio.
   */
  readonly maxChars?: number | undefined;
}

const OPTIONS: OptionRules<LiveRequestQueueOptions> = { maxChars: 'number' };
const DEFAULT_MAX_CHARS = 4 * 1024 * 1024;
/** Characters that are counted for each request in addition to its text and data. They cover a media type of this length. */
const OVERHEAD_CHARS = 64;

interface Waiting {
  readonly request: LiveRequest;
  readonly chars: number;
}

/**
 * The user's side of a live run: what the client sends while the agent speaks. Audio and video go in with
 * `sendRealtime`, written messages with `sendContent`; `close` ends the call. Each run of `runner.runLive` needs a
 * queue of its own.
 *
 * The queue is bounded: when a client sends faster than the model takes it, a send throws a LiveQueueFullError.
 * `await queue.ready()` waits for space, and `sendLatest` drops old data instead.
 *
 * @example
 * const liveRequestQueue = new LiveRequestQueue();
 * liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello' }] });
 * for await (const event of runner.runLive({ userId, sessionId, liveRequestQueue })) {
 *   console.log(stringifyContent(event));
 *   if (event.turnComplete) liveRequestQueue.close();
 * }
 */
export class LiveRequestQueue implements BaseLiveRequestQueue {
  readonly maxChars: number;
  readonly #waiting = new Fifo<Waiting>();
  #chars = 0;
  #ready: PromiseWithResolvers<void> | undefined;
  readonly #closed: PromiseWithResolvers<void> = Promise.withResolvers();

  /** @throws ConfigurationError if `maxChars` is not a positive integer, and for an option name that this version does not know */
  constructor(options: LiveRequestQueueOptions = {}) {
    checkOptions('LiveRequestQueue', OPTIONS, options);
    const { maxChars = DEFAULT_MAX_CHARS } = options;
    if (!Number.isInteger(maxChars) || maxChars < 1)
      throw new ConfigurationError(
        `LiveRequestQueue: maxChars: expected a positive integer, got ${describeKind(maxChars)}; write maxChars: 10_000_000`,
      );
    this.maxChars = maxChars;
  }

  /** True after `close`. */
  get isClosed(): boolean {
    return this.#waiting.isEnded;
  }

  /** Size of the queued requests, in characters of base64 and text. @internal */
  get chars(): number {
    return this.#chars;
  }

  /** True while a written message or a tool response is queued. @internal */
  get holdsWritten(): boolean {
    return this.#waiting.values().some(({ request }) => 'content' in request || 'toolResponses' in request);
  }

  /**
   * Sends a written message, or answers to function calls as `functionResponse` parts. It is stored in the session.
   * @throws InvalidMessageError for a content without parts
   * @throws LiveQueueFullError if the queue is full
   */
  sendContent(content: Content): void {
    if (!Array.isArray(content?.parts) || content.parts.length === 0)
      throw new InvalidMessageError(
        "LiveRequestQueue.sendContent: the content has no parts; write { role: 'user', parts: [{ text: 'hello' }] }",
      );
    this.#send({ content }, JSON.stringify(content).length);
  }

  /**
   * Sends a piece of audio or an image as base64, such as `{ mimeType: 'audio/pcm;rate=16000', data }`.
   * @throws InvalidMessageError for a blob without `data` or `mimeType`
   * @throws LiveQueueFullError if the queue is full
   */
  sendRealtime(blob: Blob): void {
    if (typeof blob?.data !== 'string' || typeof blob.mimeType !== 'string')
      throw new InvalidMessageError(
        "LiveRequestQueue.sendRealtime: the blob has no data or no mimeType; write { mimeType: 'audio/pcm;rate=16000', data }, with data in base64",
      );
    this.#send({ blob }, blob.data.length + Math.max(0, blob.mimeType.length - OVERHEAD_CHARS));
  }

  /** Reports that the user begins to speak. Only for runs in which the model does not detect it itself (push to talk). */
  sendActivityStart(): void {
    this.#send({ activityStart: true }, 0);
  }

  /** Reports that the user has finished speaking: see `sendActivityStart`. */
  sendActivityEnd(): void {
    this.#send({ activityEnd: true }, 0);
  }

  /**
   * Sends responses of calls that the client runs.
   * @throws InvalidMessageError without a response
   * @throws LiveQueueFullError if the queue is full
   */
  sendToolResponse(...toolResponses: FunctionResponse[]): void {
    if (toolResponses.length === 0)
      throw new InvalidMessageError(
        'LiveRequestQueue.sendToolResponse: there is no response; write sendToolResponse({ id, name, response: { … } })',
      );
    this.#send({ toolResponses }, JSON.stringify(toolResponses).length);
  }

  /**
   * Sends a blob as `sendRealtime` does, but drops the oldest requests if the queue is full. Does nothing if the queue is closed.
   */
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

  /** Ends the call: queued requests are still sent, and then the run ends without an error. */
  close(): void {
    this.#waiting.end();
    this.#settleReady();
    this.#closed.resolve();
  }

  /** Resolves after `close`. */
  whenClosed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Resolves when less than half of the queue is in use, or when it is closed. */
  ready(): Promise<void> {
    if (this.isClosed || this.#chars < this.maxChars / 2) return Promise.resolve();
    this.#ready ??= Promise.withResolvers();
    return this.#ready.promise;
  }

  /** @internal */
  async peek(abortSignal: AbortSignal): Promise<LiveRequest | undefined> {
    return (await this.#waiting.peek(abortSignal))?.request;
  }

  /** @internal */
  shift(): void {
    this.#chars -= this.#waiting.shift()?.chars ?? 0;
    if (this.#chars < this.maxChars / 2) this.#settleReady();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LiveRequest, void, void> {
    for (let waiting = await this.#waiting.peek(); waiting; waiting = await this.#waiting.peek()) {
      this.shift();
      yield waiting.request;
    }
  }

  #send(request: LiveRequest, size: number): void {
    if (this.isClosed) throw new InvalidMessageError('LiveRequestQueue: is closed; create a new queue for a new call');
    const chars = size + OVERHEAD_CHARS;
    if (this.#chars + chars > this.maxChars) {
      throw new LiveQueueFullError(
        chars > this.maxChars
          ? `the request has ${chars} characters, and the live queue accepts at most ${this.maxChars}; send it in smaller pieces`
          : `the live queue holds ${this.#chars} of at most ${this.maxChars} characters, and ${chars} more do not fit; ${chars > this.maxChars / 2 ? 'send smaller pieces, each at most half of the maximum, and ' : ''}wait for ready()`,
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
