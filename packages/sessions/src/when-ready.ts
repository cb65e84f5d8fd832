import type { MaybePromise } from '@eventloom/core';

/** Continues with a value: at once when it is there, after its promise otherwise. A failure passes by. */
export function whenReady<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
