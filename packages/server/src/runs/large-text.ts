import type { RequestQuota } from '../http/user-quotas.ts';

/** Maximum number of characters of one write, which stay in memory for a reader that stops reading. */
export const MAX_WRITE_CHARS: number = 64 * 1024;
/** Number of characters above which a text is written in parts, and counted until the client has read it. */
export const LARGE_CHARS: number = 2 * MAX_WRITE_CHARS;

/**
 * A large text that a reader writes in parts, as its connection takes them. It counts as an unread response of the user
 * until its last part.
 */
export class LargeText {
  #rest: string;
  readonly #held: Pick<RequestQuota, 'release'> | undefined;

  /** @param held counts the text for its user */
  constructor(text: string, held: Pick<RequestQuota, 'release'> | undefined) {
    this.#rest = text;
    this.#held = held;
  }

  /** Adds a text behind this one, such as a heartbeat. */
  add(text: string): void {
    this.#rest += text;
  }

  /** Returns the next part, and whether it is the last one, after which the text is no longer counted. */
  next(): { readonly part: string; readonly isLast: boolean } {
    const text = this.#rest;
    let end = text.length;
    if (end > LARGE_CHARS) {
      end = MAX_WRITE_CHARS;
      // A character of two units is not split.
      if (text.codePointAt(end - 1) !== text.charCodeAt(end - 1)) end--;
    }
    const part = text.slice(0, end);
    this.#rest = text.slice(end);
    const isLast = this.#rest === '';
    if (isLast) this.drop();
    return { part, isLast };
  }

  /** Counts the text no more. */
  drop(): void {
    this.#held?.release();
  }
}
