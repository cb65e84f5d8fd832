import { deferred } from '../deferred.ts';

/** A Worker is one file, which has everything from its start: to load a part of it later only takes more code. */
export function loadDeferred(): Promise<typeof deferred> {
  return Promise.resolve(deferred);
}
