/**
 * What the clients of calls were sent of whom nobody can say what they took: their runtime does not tell, and they answer no pings. All of
 * it may still wait in memory. One count for the calls of a server, because they share that memory.
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

  /** A call is over. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}
