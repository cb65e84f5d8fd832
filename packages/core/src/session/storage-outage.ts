import { StorageError } from '../errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { MaybePromise } from './maybe-promise.ts';

/** Maximum time for which a run does not begin because of the storage, in milliseconds: callers wait for their answer meanwhile. */
export const MAX_OUTAGE_MS = 10_000;

/** The pauses between attempts, before they are randomized so that runs do not try again at the same time. */
const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 1000;

/**
 * Repeats work that failed because the storage cannot be used, with growing pauses, until `endMs` or an abort.
 *
 * @param signal ends a pause
 * @throws the last error of the work
 */
export async function repeatWhileUnavailable<T>(
  work: () => MaybePromise<T>,
  thrown: unknown,
  platform: Platform,
  endMs: number,
  signal?: AbortSignal,
  isAborted = (): boolean => signal?.aborted === true,
): Promise<T> {
  let error = thrown;
  for (let pauseMs = FIRST_PAUSE_MS; isUnavailable(error) && !isAborted(); pauseMs *= 2) {
    const leftMs = endMs - platform.now();
    if (leftMs <= 0) break;
    await pause(platform, Math.min(pauseMs, MAX_PAUSE_MS, leftMs) * (0.5 + platform.random() / 2), signal);
    try {
      return await work();
    } catch (again) {
      error = again;
    }
  }
  throw error;
}

/** True if the storage cannot be used now, and may be used again later. */
export function isUnavailable(error: unknown): error is StorageError {
  return StorageError.isInstance(error) && error.retryable;
}

/** Resolves after the delay, or when the signal fires. */
function pause(platform: Platform, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      callOff();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const callOff = platform.schedule(delayMs, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}
