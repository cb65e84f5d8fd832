/** A value or a promise of it. Use `await` for both. */
export type MaybePromise<T> = T | Promise<T>;

/** True for a promise of any realm or library. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
