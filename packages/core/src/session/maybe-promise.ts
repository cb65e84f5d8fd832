/** A value that is there already, or a promise of it. `await` takes both. */
export type MaybePromise<T> = T | Promise<T>;
