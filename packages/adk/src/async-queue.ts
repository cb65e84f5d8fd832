/**
 * A queue between one producer and one consumer, which reads it with `for await`. Values that were pushed before the end are read first.
 *
 * @example
 * const queue = new AsyncQueue<string>();
 * queue.push('hello');
 * queue.close();
 * for await (const text of queue) console.log(text);
 */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  readonly #waiting: PromiseWithResolvers<IteratorResult<T, undefined>>[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;

  /** True after `close` or `fail`. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Number of values that were not read yet. */
  get size(): number {
    return this.#values.length;
  }

  /** Adds a value. Does nothing once the queue is closed. */
  push(value: T): void {
    if (this.#isClosed) return;
    const reader = this.#waiting.shift();
    if (reader) reader.resolve({ value, done: false });
    else this.#values.push(value);
  }

  /** Ends the queue with an error, which the consumer gets after the values. The first failure counts. */
  fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#isClosed = true;
    for (const reader of this.#waiting.splice(0)) reader.reject(error);
  }

  /** The same as `fail`. */
  error(error: unknown): void {
    this.fail(error);
  }

  /** Ends the queue. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const reader of this.#waiting.splice(0)) reader.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return { next: () => this.#next() };
  }

  #next(): Promise<IteratorResult<T, undefined>> {
    const [value] = this.#values;
    if (this.#values.length > 0 && value !== undefined) {
      this.#values.shift();
      return Promise.resolve({ value, done: false });
    }
    if (this.#failure) return rejected(this.#failure.error);
    if (this.#isClosed) return Promise.resolve({ value: undefined, done: true });
    const reader = Promise.withResolvers<IteratorResult<T, undefined>>();
    this.#waiting.push(reader);
    return reader.promise;
  }
}

function rejected(error: unknown): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  reject(error);
  return promise;
}
