/** Counts pieces, and resolves when an expected number is reached. */
export class PieceCounter {
  #count = 0;
  #waiting: { readonly count: number; readonly resolve: () => void } | undefined;

  readonly add = (): void => {
    this.#count++;
    if (this.#waiting && this.#count >= this.#waiting.count) {
      this.#waiting.resolve();
      this.#waiting = undefined;
    }
  };

  /** Resolves when this number of pieces has been counted since the call. */
  more(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { count: this.#count + count, resolve };
    return promise;
  }
}
