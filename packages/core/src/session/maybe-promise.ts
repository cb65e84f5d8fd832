/** A value that is there already, or a promise of it. `await` takes both. */
export type MaybePromise<T> = T | Promise<T>;

/** True for a promise, of any realm or library. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
