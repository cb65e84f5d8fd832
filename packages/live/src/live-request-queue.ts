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
import { Fifo, type OptionNames, checkKnown } from '@eventloom/core/internal';

/** Options of a `LiveRequestQueue`. */
export interface LiveRequestQueueOptions {
  /**
   * Maximum size of the queued requests, in characters of base64 and text. Default 4,194,304, which is about 90 seconds of 16 kHz PCM audio.
   */
  readonly maxChars?: number | undefined;
}

const OPTIONS: OptionNames<LiveRequestQueueOptions> = { maxChars: true };
const DEFAULT_MAX_CHARS = 4 * 1024 * 1024;
/** Characters that are counted for each request in addition to its text and data. */
const OVERHEAD_CHARS = 64;

interface Waiting {
  readonly request: LiveRequest;
  readonly chars: number;
}

/**
 * The input of a live run. The client sends with `sendContent`, `sendRealtime`, `sendActivityStart` and so on, and ends the call with `close`. A
 * queue serves exactly one run of `Runner.runLive`. Its size is limited: a send that exceeds `maxChars` throws a LiveQueueFullError; await
 * `ready` to wait for space.
 *
 * @example
 * const liveRequestQueue = new LiveRequestQueue();
 * liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello' }] });
 * liveRequestQueue.close();
 */
export class LiveRequestQueue implements BaseLiveRequestQueue {
  readonly maxChars: number;
  readonly #waiting = new Fifo<Waiting>();
  #chars = 0;
  #ready: PromiseWithResolvers<void> | undefined;
  readonly #closed: PromiseWithResolvers<void> = Promise.withResolvers();

  /** @throws ConfigurationError if `maxChars` is not a positive integer, and for an option name that this version does not know */
  constructor(options: LiveRequestQueueOptions = {}) {
    checkKnown('LiveRequestQueue', OPTIONS, options);
    const { maxChars = DEFAULT_MAX_CHARS } = options;
    if (!Number.isInteger(maxChars) || maxChars < 1)
      throw new ConfigurationError('LiveRequestQueue: maxChars must be a positive integer');
    this.maxChars = maxChars;
  }

  get isClosed(): boolean {
    return this.#waiting.isEnded;
  }

  get chars(): number {
    return this.#chars;
  }

  get holdsWritten(): boolean {
    return this.#waiting.values().some(({ request }) => 'content' in request || 'toolResponses' in request);
  }

  sendContent(content: Content): void {
    if (!Array.isArray(content.parts) || content.parts.length === 0)
      throw new InvalidMessageError('LiveRequestQueue.sendContent: the content has no parts');
    this.#send({ content }, JSON.stringify(content).length);
  }

  sendRealtime(blob: Blob): void {
    if (typeof blob.data !== 'string' || typeof blob.mimeType !== 'string')
      throw new InvalidMessageError('LiveRequestQueue.sendRealtime: the blob has no data or no mimeType');
    this.#send({ blob }, blob.data.length);
  }

  sendActivityStart(): void {
    this.#send({ activityStart: true }, 0);
  }

  sendActivityEnd(): void {
    this.#send({ activityEnd: true }, 0);
  }

  sendToolResponse(...toolResponses: FunctionResponse[]): void {
    if (toolResponses.length === 0)
      throw new InvalidMessageError('LiveRequestQueue.sendToolResponse: there is no response');
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

  close(): void {
    this.#waiting.end();
    this.#settleReady();
    this.#closed.resolve();
  }

  whenClosed(): Promise<void> {
    return this.#closed.promise;
  }

  ready(): Promise<void> {
    if (this.isClosed || this.#chars < this.maxChars / 2) return Promise.resolve();
    this.#ready ??= Promise.withResolvers();
    return this.#ready.promise;
  }

  async peek(abortSignal: AbortSignal): Promise<LiveRequest | undefined> {
    return (await this.#waiting.peek(abortSignal))?.request;
  }

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
