import { ModelError, type Platform } from '@eventloom/core';
import { retryDelayMs } from './retry-delay.ts';
import type { Retry } from './retry-options.ts';
import { wait } from './wait.ts';

/** Asks until there is an answer, an error that no retry helps against, or no attempt left; then throws the last error. */
export async function withRetries<T>(
  ask: () => Promise<T>,
  retry: Retry,
  platform: Platform,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!ModelError.isInstance(error) || !error.retryable) throw error;
      const delayMs = retryDelayMs(attempt, error.retryAfterMs, retry);
      if (delayMs === undefined) throw error;
      await wait(delayMs, platform, signal);
    }
  }
}
