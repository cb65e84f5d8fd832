/** Counts pieces, and tells when there are as many as were waited for. */
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

  /** Settles when so many more were counted than at the call. */
  more(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { count: this.#count + count, resolve };
    return promise;
  }
}
