/** Maximum number of send positions kept without a report of the service. With more the service is assumed to report none. */
const MAX_SENDS = 100_000;

/**
 * Counts the messages on a connection, and where in them each send ends: the service reports what it consumed in messages, of which a send
 * may be several.
 */
export class CountedSends {
  /** Number of messages after the setup, which is message 0. */
  messages = 0;
  /** The index of the last message of each send that is not consumed. */
  #ends: number[] = [];
  #consumed = 0;
  #isLost = false;

  /** Counts a message. */
  add(): void {
    this.messages++;
  }

  /** Ends a send, which consists of the messages since the end before. */
  end(): void {
    this.#ends.push(this.messages);
    if (this.#ends.length <= MAX_SENDS) return;
    this.#ends = [];
    this.#isLost = true;
  }

  /**
   * Returns the number of sends that the service has consumed completely once it consumed this message and all before
   * it; undefined if that is not known.
   */
  consumed(lastMessage: number): number | undefined {
    if (this.#isLost || !Number.isInteger(lastMessage)) return undefined;
    const left = this.#ends.findIndex((end) => end > lastMessage);
    const count = left < 0 ? this.#ends.length : left;
    this.#ends = this.#ends.slice(count);
    this.#consumed += count;
    return this.#consumed;
  }
}
