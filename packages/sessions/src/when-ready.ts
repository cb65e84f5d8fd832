import type { MaybePromise } from '@eventloom/core';

/** Continues with a value: synchronously if it is there, otherwise after its promise. A rejection is passed on. */
export function whenReady<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
