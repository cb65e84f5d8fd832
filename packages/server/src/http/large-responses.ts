import { type Platform, toError } from '@eventloom/core';
import type { WorkQueue } from '@eventloom/core/internal';
import { UnreadResponsesError } from '../errors.ts';
import { cutError } from '../runs/run-reader.ts';
import { CHARS_PER_SLICE, UserQueues } from './in-slices.ts';
import { jsonTextResponse } from './responses.ts';
import { isOverLimit, RequestQuota, type UserQuotas } from './user-quotas.ts';

/** Number of characters up to which a response is sent in one piece and not counted. */
export const SMALL_CHARS: number = 16 * 1024;
/** Number of characters of a response that are written at once. The rest is written as the client reads. */
const MAX_AHEAD = 8 * 1024 * 1024;
/** Number of characters that are counted for the part of a response that is written as the client reads. */
const CHARS_LATER = 1024 * 1024;

/** The JSON text of a response. */
export interface ResponseText {
  /** The parts of the text, or the first of them, from values that are in memory. */
  readonly parts: Iterable<string>;
  /** The parts after them, which are read from the storage as the client reads. */
  readonly rest?: AsyncGenerator<string, void, undefined> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Parameters of `LargeResponses`. */
interface LargeResponsesOptions {
  readonly quotas: UserQuotas;
  readonly heartbeatMs: number;
  readonly platform: Pick<Platform, 'schedule'>;
  readonly queue: WorkQueue;
  readonly report: (error: unknown) => void;
}

/**
 * Answers requests whose JSON may be large: sessions, pages of sessions and events, artifacts. One user cannot take the
 * memory or the time of the others with them: the server reads one response of a user at a time, counts the characters
 * of large responses until the client has read them, lets other work run between the parts, and disconnects a client
 * that reads nothing for two heartbeats.
 */
export class LargeResponses {
  readonly #options: LargeResponsesOptions;
  readonly #userQueues: UserQueues;
  /** Settles when a client has read a response or has left. */
  #freed = Promise.withResolvers<void>();

  constructor(options: LargeResponsesOptions) {
    this.#options = options;
    this.#userQueues = new UserQueues(options.platform, options.queue);
  }

  /**
   * Reads a response and returns it, streamed if it is larger than 16 Ki characters. A failure after the response has
   * begun is reported, and cuts the response.
   *
   * @throws UserLimitError, ServerBusyError for a large response over the limits, and the errors of `read`
   */
  respond(userId: string, read: () => ResponseText | Promise<ResponseText>): Promise<Response> {
    return this.#userQueues.run(userId, async () => this.#write(userId, await read(), true));
  }

  /**
   * Makes a change and responds to it. The change is refused if the user has no room for a response; its own response
   * is read once there is room.
   *
   * @param change makes the change, and returns how its response is read. It should hold no large value until then
   * @throws UserLimitError and ServerBusyError if the limits are reached, UnreadResponsesError if there is no room
   * after the change, and the errors of `change`
   */
  async respondToChange(
    userId: string,
    change: () => Promise<() => ResponseText | Promise<ResponseText>>,
  ): Promise<Response> {
    this.#options.quotas.check('responseChars', 1, userId);
    const read = await change();
    return this.#userQueues.run(userId, async () => {
      await this.#waitForRoom(userId);
      return this.#write(userId, await read(), false);
    });
  }

  /** Responds with a text that is in memory, once there is room for it. @throws UnreadResponsesError */
  async respondWithText(userId: string, text: string, headers: ResponseText['headers']): Promise<Response> {
    if (text.length <= SMALL_CHARS) return jsonTextResponse(text, headers);
    await this.#waitForRoom(userId);
    return this.#write(userId, { parts: [text], headers }, false);
  }

  /**
   * Waits until the user has room for a response.
   * @throws UnreadResponsesError after the time in which clients that read nothing are disconnected
   */
  async #waitForRoom(userId: string): Promise<void> {
    const { platform, quotas } = this.#options;
    let isLate = false;
    const stopTimer = platform.schedule(2 * this.#stalledMs, () => {
      isLate = true;
      this.#free();
    });
    try {
      for (;;) {
        try {
          return quotas.check('responseChars', 1, userId);
        } catch (cause) {
          if (!isOverLimit(cause)) throw cause;
          if (isLate)
            throw new UnreadResponsesError(
              'the request was carried out, but its response cannot be sent, because responses that clients did not read take all of limits.maxResponseChars or maxResponseCharsPerUser; read the session',
              { cause },
            );
          await this.#freed.promise;
        }
      }
    } finally {
      stopTimer();
    }
  }

  #free(): void {
    this.#freed.resolve();
    this.#freed = Promise.withResolvers();
  }

  /** The time after which a client that reads nothing is disconnected, in milliseconds. */
  get #stalledMs(): number {
    return 2 * this.#options.heartbeatMs;
  }

  /** @param isLimited false for a response that is not refused for its size */
  async #write(userId: string, { parts, rest, headers }: ResponseText, isLimited: boolean): Promise<Response> {
    const { quotas, queue } = this.#options;
    const later = parts[Symbol.iterator]();
    const blocks: string[] = [];
    let block = '';
    let chars = 0;
    let next = later.next();
    for (; next.done !== true && chars < MAX_AHEAD; next = later.next()) {
      block += next.value;
      chars += next.value.length;
      if (block.length < CHARS_PER_SLICE) continue;
      blocks.push(block);
      block = '';
      await queue.next();
    }
    const isWhole = next.done === true && !rest;
    if (isWhole && chars <= SMALL_CHARS) return jsonTextResponse(block, headers);
    blocks.push(block);
    const quota = new RequestQuota(quotas, userId);
    quota.countResponse(chars + (isWhole ? 0 : CHARS_LATER), isLimited);
    return this.#stream(quota, remaining(blocks, next, later, rest), headers);
  }

  /** Returns a response whose text is written as the client reads it, in blocks. */
  #stream(
    quota: RequestQuota,
    text: AsyncGenerator<string, void, undefined>,
    headers: ResponseText['headers'],
  ): Response {
    const { platform, queue, report } = this.#options;
    const encoder = new TextEncoder();
    let isOpen = true;
    let stopTimer: (() => void) | undefined;
    const close = (): void => {
      stopTimer?.();
      if (!isOpen) return;
      isOpen = false;
      quota.release();
      this.#free();
    };
    const cut = (controller: ReadableStreamDefaultController<Uint8Array>, error: Error): void => {
      if (!isOpen) return;
      close();
      report(error);
      controller.error(cutError(error.message));
      text.return().catch(report);
    };
    const watch = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      stopTimer = platform.schedule(this.#stalledMs, () =>
        cut(controller, new UnreadResponsesError('the client read nothing of a response for two heartbeats')),
      );
    };
    const body = new ReadableStream<Uint8Array>(
      {
        start: watch,
        async pull(controller) {
          stopTimer?.();
          try {
            await queue.next();
            let block = '';
            while (block.length < CHARS_PER_SLICE) {
              const next = await text.next();
              if (next.done === true) break;
              block += next.value;
            }
            if (!isOpen) return;
            if (block === '') {
              close();
              controller.close();
            } else {
              controller.enqueue(encoder.encode(block));
              watch(controller);
            }
          } catch (thrown) {
            cut(controller, toError(thrown));
          }
        },
        async cancel() {
          close();
          await text.return();
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { 'content-type': 'application/json', ...headers } });
  }
}

/** Yields the blocks, which are then no longer in memory, and the parts after them. */
async function* remaining(
  blocks: string[],
  next: IteratorResult<string, unknown>,
  later: Iterator<string>,
  rest: AsyncGenerator<string, void, undefined> | undefined,
): AsyncGenerator<string, void, undefined> {
  for (let block = blocks.shift(); block !== undefined; block = blocks.shift()) yield block;
  for (let part = next; part.done !== true; part = later.next()) yield part.value;
  if (rest) yield* rest;
}
