import type { MaybePromise } from '@eventloom/core';

/** Continues with a value: synchronously, or after its promise if it is one. A rejection is passed on. */
export function whenReady<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
