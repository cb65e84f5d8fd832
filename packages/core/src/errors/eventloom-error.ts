const BRAND = Symbol.for('eventloom.error');

/** What every Eventloom error takes beside its message. */
export interface EventloomErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** True when doing the same thing again later may succeed. Defaults to the class's own answer, false for most. */
  readonly retryable?: boolean;
  /** What clients and sessions are told in place of the message, when that quotes what others threw. */
  readonly publicMessage?: string;
}

/**
 * Base of every error this project throws on purpose. A subclass is its `code`: stable, upper snake case, never reused.
 *
 * `instanceof` fails when two copies of a package are loaded; `SomeError.isInstance(value)` does not, because it compares a
 * registered symbol and the code.
 */
export abstract class EventloomError extends Error {
  static readonly code: string = 'EVENTLOOM';
  readonly [BRAND] = true;
  readonly code: string;
  readonly retryable: boolean;
  readonly #publicMessage: string | undefined;

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = new.target.code;
    this.retryable = options.retryable ?? false;
    this.#publicMessage = options.publicMessage;
  }

  /** The message as clients and sessions are told it: without the words of errors that are not Eventloom's own, which may hold secrets. */
  get publicMessage(): string {
    return this.#publicMessage ?? this.message;
  }

  /** True for this class's errors; on `EventloomError` itself, for all of them. */
  static isInstance<T extends abstract new (...args: never) => EventloomError>(
    this: T & { readonly code: string },
    value: unknown,
  ): value is InstanceType<T> {
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
    return this.code === EventloomError.code || ('code' in value && value.code === this.code);
  }
}
