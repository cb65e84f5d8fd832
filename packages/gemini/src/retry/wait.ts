import { type Platform, RunAbortedError } from '@eventloom/core';

/** Waits by the platform's clock. @throws RunAbortedError as soon as the signal fires */
export async function wait(delayMs: number, platform: Platform, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () =>
    reject(new RunAbortedError('aborted while waiting to ask the model again', { cause: signal?.reason }));
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const cancel = platform.schedule(delayMs, resolve);
  try {
    await promise;
  } finally {
    cancel();
    signal?.removeEventListener('abort', abort);
  }
}
