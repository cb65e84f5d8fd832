/** Reads state, and cannot write it. What is got is a copy. */
export class StateReader {
  readonly #view: Readonly<Record<string, unknown>>;

  /** @param view the merged state of the session as this invocation sees it */
  constructor(view: Readonly<Record<string, unknown>>) {
    this.#view = view;
  }

  /** The value of a key, or `defaultValue` when it is not there. Null is a value. */
  get<T = unknown>(key: string): T | undefined;
  get<T>(key: string, defaultValue: T): T;
  get(key: string, defaultValue?: unknown): unknown {
    if (!Object.hasOwn(this.#view, key)) return defaultValue;
    const value = this.#view[key];
    return typeof value === 'object' && value !== null ? structuredClone(value) : value;
  }

  /** True when the key is there, also when its value is null. */
  has(key: string): boolean {
    return Object.hasOwn(this.#view, key);
  }

  /** A copy of everything that can be read, keys with their prefixes. */
  toRecord(): Record<string, unknown> {
    return structuredClone({ ...this.#view });
  }
}
