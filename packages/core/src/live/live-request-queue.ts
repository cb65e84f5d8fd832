import type { Blob, Content, FunctionResponse } from '../content/content.ts';

/** One request of a live client: exactly one of the fields. */
export type LiveRequest =
  /** A whole turn of the user. */
  | { readonly content: Content }
  /** A piece of audio or video, as it is recorded. */
  | { readonly blob: Blob }
  /** The user begins to speak or to act; for models whose own detection is switched off. */
  | { readonly activityStart: true }
  /** The user has stopped speaking or acting. */
  | { readonly activityEnd: true }
  /** Responses to calls that the model still waits for. */
  | { readonly toolResponses: readonly FunctionResponse[] };

/**
 * The input of a live run: the client's requests, in the order in which they were sent. One queue serves one run, whichever agent has
 * control and whichever connection to the model is open. Bounded: a send that does not fit throws, and nothing is dropped.
 *
 * Iterating takes out one request after the other until the queue is closed and empty. For one reader at a time, in place of `peek`.
 */
export interface BaseLiveRequestQueue extends AsyncIterable<LiveRequest> {
  /** Capacity of the queue, in characters of base64 and text. */
  readonly maxChars: number;
  /** Number of characters that wait to be read. @internal */
  readonly chars: number;
  /** True once `close` was called: every further send throws. */
  readonly isClosed: boolean;
  /** True while contents or tool responses wait; media and activity signals do not count. @internal */
  readonly holdsWritten: boolean;

  /**
   * Sends a whole turn of the user.
   *
   * @throws LiveQueueFullError if the request does not fit
   * @throws InvalidMessageError when the queue is closed, or the content has no parts
   */
  sendContent(content: Content): void;

  /**
   * Sends a piece of audio or video, base64.
   *
   * @throws LiveQueueFullError if the request does not fit
   * @throws InvalidMessageError when the queue is closed, or the blob has no data or no type
   */
  sendRealtime(blob: Blob): void;

  /**
   * Reports that the user begins to speak or to act.
   *
   * @throws LiveQueueFullError if the request does not fit
   * @throws InvalidMessageError when the queue is closed
   */
  sendActivityStart(): void;

  /**
   * Reports that the user has stopped speaking or acting.
   *
   * @throws LiveQueueFullError if the request does not fit
   * @throws InvalidMessageError when the queue is closed
   */
  sendActivityEnd(): void;

  /**
   * Sends responses to calls that wait.
   *
   * @throws LiveQueueFullError if the request does not fit
   * @throws InvalidMessageError when the queue is closed, or without a response
   */
  sendToolResponse(...toolResponses: FunctionResponse[]): void;

  /** Closes the queue: the run ends after it has read all earlier requests. A second call is a no-op. A run that ends closes its queue. */
  close(): void;

  /** Resolves once the queue is closed. */
  whenClosed(): Promise<void>;

  /**
   * Resolves when the queue is less than half full, or closed. A send of at most half of `maxChars` then fits; each request counts 64
   * characters in addition to its text and data. Nothing is reserved: with several producers, another one may send first.
   */
  ready(): Promise<void>;

  /**
   * Resolves to the oldest request, which stays in the queue until `shift`, so that none is lost with a connection.
   * Resolves to undefined when the queue is closed and empty. For one reader at a time.
   * @throws the signal's reason when it fires first
   * @internal
   */
  peek(abortSignal: AbortSignal): Promise<LiveRequest | undefined>;

  /** Removes the oldest request. @internal */
  shift(): void;
}
