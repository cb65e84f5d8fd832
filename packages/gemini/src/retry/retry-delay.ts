import type { Retry } from './retry-options.ts';

/**
 * Milliseconds to wait after the attempt of this number (1 is the first) failed; undefined when it is not to be tried again.
 * What the service asks for is a floor: jitter is added to it, and taken from the wait of our own.
 */
export function retryDelayMs(attempt: number, askedMs: number | undefined, retry: Retry): number | undefined {
  const { attempts, initialDelayMs, maxDelayMs, jitter, random } = retry;
  if (attempt >= attempts) return undefined;
  const ownMs = Math.min(initialDelayMs * 2 ** (attempt - 1), maxDelayMs) * (1 - jitter * random());
  if (askedMs === undefined) return ownMs;
  if (askedMs > maxDelayMs) return undefined;
  return Math.max(askedMs, ownMs) + Math.min(initialDelayMs, askedMs) * jitter * random();
}
