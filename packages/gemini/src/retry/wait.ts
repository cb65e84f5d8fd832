import { type Platform, RunAbortedError } from '@eventloom/core';

/** The longest delay that timers take. */
const LONGEST_MS = 2 ** 31 - 1;

/** Waits by the platform's clock. @throws RunAbortedError as soon as the signal fires */
export async function wait(delayMs: number, platform: Platform, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () =>
    reject(new RunAbortedError('aborted while waiting to ask the model again', { cause: signal?.reason }));
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const cancel = platform.schedule(delayMs, resolve);
  // A pending timer of the platform keeps no process alive, and a call that is under way should.
  const alive = setTimeout(() => undefined, LONGEST_MS);
  try {
    await promise;
  } finally {
    cancel();
    clearTimeout(alive);
    signal?.removeEventListener('abort', abort);
  }
}
