/** Does work of the same key one after the other, in the order of the calls. Work of different keys is independent. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does the work after all earlier work of the key, also if that failed. Returns its result, or rejects with its error. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work, work);
    this.#last.set(key, done);
    const leave = (): void => {
      if (this.#last.get(key) === done) this.#last.delete(key);
    };
    done.then(leave, leave);
    return done;
  }

  /** True if the key has work that is not done. */
  has(key: string): boolean {
    return this.#last.has(key);
  }
}
