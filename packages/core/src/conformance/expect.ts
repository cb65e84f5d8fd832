import { EventloomError } from '../errors.ts';
import { ConformanceError } from './errors.ts';

/** An error class of the runtime. */
type ErrorClass = typeof EventloomError;

/** The assertions of one case. Each failure is a ConformanceError that names the case. */
export class Expect {
  readonly #rule: string;

  constructor(rule: string) {
    this.#rule = rule;
  }

  /** Asserts that two values are the same JSON. The order of keys and undefined properties do not count. */
  same(what: string, got: unknown, expected: unknown): void {
    if (!isSame(got, expected)) throw new ConformanceError(this.#rule, what, expected, got);
  }

  different(what: string, got: unknown, other: unknown): void {
    if (isSame(got, other)) throw new ConformanceError(this.#rule, what, 'something else', got);
  }

  true(what: string, got: boolean): void {
    this.same(what, got, true);
  }

  /** Asserts that a value is present, and returns it. */
  present<T>(what: string, got: T | undefined | null): T {
    if (got === undefined || got === null) throw new ConformanceError(this.#rule, what, 'a value', got);
    return got;
  }

  /** Asserts that a promise rejects with an error of this class, compared by code, and returns the error. */
  async rejects(what: string, promise: Promise<unknown>, expected: ErrorClass): Promise<EventloomError> {
    const error = await promise.then(
      () => 'no error',
      (reason: unknown) => reason,
    );
    if (!expected.isInstance(error)) throw new ConformanceError(this.#rule, what, expected.code, error);
    return error;
  }

  /** Asserts that a promise fulfils, and returns the value. */
  async fulfils<T>(what: string, promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      throw new ConformanceError(this.#rule, what, 'success', error);
    }
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index]))
    );
  }
  const mine = entriesOf(one);
  const theirs = new Map(entriesOf(other));
  return mine.length === theirs.size && mine.every(([key, value]) => theirs.has(key) && isSame(value, theirs.get(key)));
}

function entriesOf(record: object): [string, unknown][] {
  return Object.entries(record).filter(([, value]) => value !== undefined);
}
