import { type Blob, type Content, type FunctionResponse, InvalidMessageError, type LiveRequest } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { LiveRequestQueue } from '@eventloom/live';

/** One request of a live client, for programs that were written for `@google/adk`: exactly one of the fields. */
export interface AdkLiveRequest {
  /** A whole turn of the user. */
  readonly content?: Content | undefined;
  /** A piece of audio or video. */
  readonly blob?: Blob | undefined;
  /** The user begins to speak: `{}`, or `true`. */
  readonly activityStart?: object | true | undefined;
  /** The user has stopped speaking: `{}`, or `true`. */
  readonly activityEnd?: object | true | undefined;
  /** Responses to calls that the model waits for. */
  readonly toolResponses?: readonly FunctionResponse[] | undefined;
  /** True closes the queue, and is the last request that is read from it. */
  readonly close?: boolean | undefined;
}

/**
 * The `LiveRequestQueue` of programs that were written for `@google/adk`: that of `eventloom`, with `send` and `get`.
 * The last request that is read from it is `{ close: true }`.
 *
 * @example
 * const liveRequestQueue = new LiveRequestQueue();
 * liveRequestQueue.send({ content: { role: 'user', parts: [{ text: 'Hello' }] } });
 */
export class AdkLiveRequestQueue extends LiveRequestQueue {
  /** The name of the class in error messages. */
  static override readonly name: string = 'LiveRequestQueue';
  /** Settles when the request before has been read. */
  #reading: Promise<unknown> = Promise.resolve();

  /**
   * Sends a request; `{ close: true }` closes the queue.
   * @throws InvalidMessageError for an object that is not a request, and when the queue is closed
   * @throws LiveQueueFullError if the queue is full
   */
  send(request: AdkLiveRequest): void {
    const given: AdkLiveRequest = isRecord(request) ? request : {};
    const { content, blob, activityStart, activityEnd, toolResponses, close } = given;
    if (content) this.sendContent(content);
    else if (blob) this.sendRealtime(blob);
    else if (activityStart) this.sendActivityStart();
    else if (activityEnd) this.sendActivityEnd();
    else if (toolResponses) this.sendToolResponse(...toolResponses);
    else if (close) this.close();
    else
      throw new InvalidMessageError(
        `LiveRequestQueue.send: expected an object with content, blob, activityStart, activityEnd, toolResponses or close, got ${describeKind(request)}; write send({ content: { role: 'user', parts: [{ text: 'hello' }] } })`,
      );
  }

  /**
   * Resolves to the oldest request, and removes it; to `{ close: true }` once the queue is closed and empty. Several
   * calls get one request each, in order.
   * @throws the reason of the signal when it fires first
   */
  get(abortSignal: AbortSignal = new AbortController().signal): Promise<AdkLiveRequest> {
    const read = this.#reading.then(async () => {
      const request = await this.peek(abortSignal);
      if (!request) return { close: true };
      this.shift();
      if ('activityStart' in request) return { activityStart: {} };
      return 'activityEnd' in request ? { activityEnd: {} } : request;
    });
    this.#reading = read.catch(() => undefined);
    return read;
  }

  override async *[Symbol.asyncIterator](): AsyncGenerator<LiveRequest & AdkLiveRequest, void, void> {
    for (;;) {
      const request = await this.get();
      // `{ close: true }` is not a request that queues of other packages have. It ends the loop.
      yield request as LiveRequest & AdkLiveRequest;
      if (request.close) return;
    }
  }
}
