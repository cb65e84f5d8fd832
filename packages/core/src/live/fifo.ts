/** Number of removed items that the list may keep in front. Above it the list is copied without them. */
const MAX_GAP = 1024;

/** A first-in, first-out queue with one reader. Its writer is responsible for bounds. */
export class Fifo<T extends object> {
  #waiting: T[] = [];
  /** The index of the oldest item in `#waiting`. */
  #first = 0;
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** True once `end` was called. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  push(value: T): void {
    this.#waiting.push(value);
    this.#wake?.();
  }

  /** Ends the queue; a waiting reader gets the end. A second call is a no-op. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /**
   * Resolves to the oldest item as soon as there is one; the item stays until `shift`. Resolves to undefined once the queue has ended and
   * is empty. For one reader at a time.
   * @throws the signal's reason when it fires before there is one
   */
  async peek(abortSignal?: AbortSignal): Promise<T | undefined> {
    for (;;) {
      abortSignal?.throwIfAborted();
      const oldest = this.#waiting[this.#first];
      if (oldest || this.#isEnded) return oldest;
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = (): void => resolve();
      this.#wake = resolve;
      abortSignal?.addEventListener('abort', stop, { once: true });
      await promise;
      abortSignal?.removeEventListener('abort', stop);
    }
  }

  /** Removes and returns the oldest item; undefined if the queue is empty. */
  shift(): T | undefined {
    const oldest = this.#waiting[this.#first];
    if (oldest) this.#first++;
    if (this.#first === this.#waiting.length || this.#first > MAX_GAP) this.#keep(this.values());
    return oldest;
  }

  /** Returns the items that wait, oldest first, and leaves them in the queue. */
  values(): T[] {
    return this.#waiting.slice(this.#first);
  }

  /** Removes the items for which `isDropped` returns true. */
  drop(isDropped: (value: T) => boolean): void {
    this.#keep(this.values().filter((value) => !isDropped(value)));
  }

  #keep(waiting: T[]): void {
    this.#waiting = waiting;
    this.#first = 0;
  }
}
