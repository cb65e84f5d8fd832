import type { LiveLlmResponse } from '@eventloom/core';
import { Fifo } from '@eventloom/core/internal';

/** Bounds of an inbox, and its callbacks. */
interface LiveInboxOptions {
  /** Maximum size of waiting messages before the sender must pause, in characters of text and base64. */
  readonly maxChars: number;
  /** Called when more than `maxChars` wait. */
  readonly onFull: () => void;
  /** Called after `onFull`, when there is room again. */
  readonly onRoom: () => void;
  /** Called when a sender that cannot pause has filled `OVERFLOW` times `maxChars`. */
  readonly onOverflow: () => void;
}

const OVERFLOW = 8;
/** Size that each response counts in addition to its content, in characters. */
const OVERHEAD_CHARS = 256;

/** Queues responses between the socket, which pushes them, and the one reader, in order. */
export class LiveInbox {
  readonly #options: LiveInboxOptions;
  readonly #waiting = new Fifo<LiveLlmResponse>();
  #chars = 0;
  #isFull = false;
  /** The end after the last response, with or without an error; undefined while the inbox is open. */
  #end: { readonly error?: unknown } | undefined;

  constructor(options: LiveInboxOptions) {
    this.#options = options;
  }

  /** Adds a response. Does nothing after the end. */
  push(response: LiveLlmResponse): void {
    if (this.#end) return;
    const { maxChars, onFull, onOverflow } = this.#options;
    this.#waiting.push(response);
    this.#chars += charsOf(response);
    if (this.#chars <= maxChars) return;
    if (!this.#isFull) {
      this.#isFull = true;
      onFull();
    }
    if (this.#chars > OVERFLOW * maxChars) onOverflow();
  }

  /** Ends the queue after its last response, with an error or without one. Only the first end counts. */
  end(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#waiting.end();
  }

  /** Throws the error at once, and drops the queued responses. */
  abort(error: unknown): void {
    this.#end = { error };
    this.#waiting.drop(() => true);
    this.#waiting.end();
  }

  /** Returns the oldest response once there is one; undefined at the end. @throws the error that ended the queue */
  async take(): Promise<LiveLlmResponse | undefined> {
    await this.#waiting.peek();
    const oldest = this.#waiting.shift();
    if (oldest) this.#taken(oldest);
    else if (this.#end && 'error' in this.#end) throw this.#end.error;
    return oldest;
  }

  #taken(oldest: LiveLlmResponse): void {
    this.#chars -= charsOf(oldest);
    if (!this.#isFull || this.#chars > this.#options.maxChars / 2) return;
    this.#isFull = false;
    this.#options.onRoom();
  }
}

function charsOf({ content }: LiveLlmResponse): number {
  let chars = OVERHEAD_CHARS;
  for (const { text, inlineData } of content?.parts ?? []) {
    chars += (text?.length ?? 0) + (inlineData?.data?.length ?? 0);
  }
  return chars;
}
