/**
 * What may wait in memory of what clients were sent, where the runtime does not say so: to clients that answer no pings all that they were sent, as
 * long as their socket is there, and to others what they did not answer for when they were let go. One count for the calls of a server, because they
 * share that memory.
 */
export class UnconfirmedBytes {
  readonly #max: number;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isTooMuch(): boolean {
    return this.#bytes >= this.#max;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** A socket is gone. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}
