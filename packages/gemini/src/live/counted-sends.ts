/** Maximum number of send positions kept without a report of the service. With more the service is assumed to report none. */
const MAX_SENDS = 100_000;

/**
 * Counts the messages on a connection, and where in them each send ends: the service reports what it consumed in messages, of which a send
 * may be several.
 */
export class CountedSends {
  /** Messages so far after the setup, which is message 0. */
  messages = 0;
  /** The last message of each send that is not consumed. */
  #ends: number[] = [];
  #consumed = 0;
  #isLost = false;

  /** A message is on its way. */
  add(): void {
    this.messages++;
  }

  /** The messages since the last end were one send. */
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
