import { type Platform, toError } from '@eventloom/core';
import { KeyedQueue } from '@eventloom/core/internal';
import { ServerBusyError, SlowReaderError, UserLimitError } from '../errors.ts';
import { cutError } from '../runs/run-reader.ts';
import type { ServerLimits } from '../server-limits.ts';
import { CHARS_PER_TURN, type WorkQueue } from './in-turns.ts';
import { jsonTextResponse } from './responses.ts';

/** Number of characters of an answer that are written at once. The rest is written as the client reads. */
const MAX_AHEAD = 8 * 1024 * 1024;
/** Number of characters that are counted for the part of an answer that is written as the client reads. */
const CHARS_LATER = 1024 * 1024;

/** The JSON text of an answer. */
export interface AnswerText {
  /** The parts of the text, or the first of them, from values that are in memory. */
  readonly parts: Iterable<string>;
  /** The parts after them, which are read from the storage as the client reads. */
  readonly rest?: AsyncGenerator<string, void, undefined> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Parameters of `LargeAnswers`. */
interface LargeAnswersOptions {
  readonly limits: Pick<ServerLimits, 'maxAnswerChars' | 'maxAnswerCharsPerUser' | 'heartbeatMs'>;
  readonly platform: Pick<Platform, 'schedule'>;
  readonly queue: WorkQueue;
  readonly report: (error: unknown) => void;
}

/**
 * Answers requests whose JSON may be large: sessions, pages of sessions and events, artifacts. One user cannot take the memory or the time of
 * the others with them: the server reads one answer of a user at a time, refuses further ones while the user's clients have too many
 * characters to read, lets other work run between the parts, and disconnects a client that reads nothing for two heartbeats.
 */
export class LargeAnswers {
  readonly #options: LargeAnswersOptions;
  readonly #reading = new KeyedQueue();
  /** Number of characters of answers that clients have not read yet, by user and in total. Small answers do not count. */
  readonly #ofUsers = new Map<string, number>();
  #total = 0;

  constructor(options: LargeAnswersOptions) {
    this.#options = options;
  }

  /**
   * Reads an answer and returns it, streamed if it is larger than 128 Ki characters. A failure after the response has begun is reported, and
   * cuts the response.
   *
   * @param isRefusable false for the answer to a change that was made already. Default true
   * @throws UserLimitError, ServerBusyError, and the errors of `read`
   */
  answer(userId: string, read: () => AnswerText | Promise<AnswerText>, isRefusable = true): Promise<Response> {
    return this.#reading.run(userId, async () => {
      if (isRefusable) this.#checkRoom(userId);
      const { parts, rest, headers } = await read();
      const later = parts[Symbol.iterator]();
      const blocks: string[] = [];
      let block = '';
      let chars = 0;
      let next = later.next();
      for (; next.done !== true && chars < MAX_AHEAD; next = later.next()) {
        block += next.value;
        chars += next.value.length;
        if (block.length < CHARS_PER_TURN) continue;
        blocks.push(block);
        block = '';
        await this.#options.queue.turn();
      }
      if (next.done === true && !rest && blocks.length === 0) return jsonTextResponse(block, headers);
      blocks.push(block);
      const text = remaining(blocks, next, later, rest);
      return this.#stream(userId, text, chars + (next.done === true && !rest ? 0 : CHARS_LATER), headers);
    });
  }

  #checkRoom(userId: string): void {
    const { maxAnswerChars, maxAnswerCharsPerUser } = this.#options.limits;
    const unread = this.#ofUsers.get(userId) ?? 0;
    if (unread >= maxAnswerCharsPerUser)
      throw new UserLimitError(
        `the user's clients have not read ${unread} characters of earlier answers, and may have ${maxAnswerCharsPerUser} to read ` +
          '(limits.maxAnswerCharsPerUser of this server); try again when they have read them',
      );
    if (this.#total >= maxAnswerChars)
      throw new ServerBusyError(
        'the server has its maximum number of characters of answers that clients have not read (limits.maxAnswerChars); try again later',
      );
  }

  #count(userId: string, chars: number): void {
    this.#total += chars;
    const unread = (this.#ofUsers.get(userId) ?? 0) + chars;
    if (unread === 0) this.#ofUsers.delete(userId);
    else this.#ofUsers.set(userId, unread);
  }

  /** Returns a response whose text is written as the client reads it, in blocks. */
  #stream(
    userId: string,
    text: AsyncGenerator<string, void, undefined>,
    chars: number,
    headers: AnswerText['headers'],
  ): Response {
    const { limits, platform, queue, report } = this.#options;
    const encoder = new TextEncoder();
    this.#count(userId, chars);
    let isOpen = true;
    let stopTimer: (() => void) | undefined;
    const close = (): void => {
      stopTimer?.();
      if (isOpen) this.#count(userId, -chars);
      isOpen = false;
    };
    const cut = (controller: ReadableStreamDefaultController<Uint8Array>, error: Error): void => {
      if (!isOpen) return;
      close();
      report(error);
      controller.error(cutError(error.message));
      text.return().catch(report);
    };
    const watch = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      stopTimer = platform.schedule(2 * limits.heartbeatMs, () =>
        cut(controller, new SlowReaderError('the client read nothing of an answer for two heartbeats')),
      );
    };
    const body = new ReadableStream<Uint8Array>(
      {
        start: watch,
        async pull(controller) {
          stopTimer?.();
          try {
            await queue.turn();
            let block = '';
            while (block.length < CHARS_PER_TURN) {
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
