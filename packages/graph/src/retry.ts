import { ConfigurationError, type Platform, RunAbortedError, toError } from '@eventloom/core';
import type { AbortGuard, OptionNames } from '@eventloom/core/internal';
import { checkOptions } from './check-options.ts';
import { NodeError } from './errors.ts';

/** Retries of a node that failed: number of attempts and waits. */
export interface RetryConfig {
  /** Attempts in all, the first one included. */
  readonly maxAttempts: number;
  /** Before the second attempt. Default 1,000. */
  readonly initialDelayMs?: number;
  /** Factor by which each wait is longer than the one before. Default 2. */
  readonly backoffFactor?: number;
  /** No wait is longer. Default 60,000. */
  readonly maxDelayMs?: number;
  /**
   * Returns true for failures that are retried; an error that it throws is a failure of the node. It is not called for
   * configuration errors and for the end of the run, which are never retried. Default: all others are.
   */
  readonly retryOn?: (error: unknown) => boolean | Promise<boolean>;
}

/** The longest timer that every runtime has. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

const OPTIONS: OptionNames<RetryConfig> = {
  maxAttempts: true,
  initialDelayMs: true,
  backoffFactor: true,
  maxDelayMs: true,
  retryOn: true,
};

/** @throws ConfigurationError that names the owner */
export function checkRetry(owner: string, retry: RetryConfig): void {
  checkOptions(`${owner}: retry`, retry, OPTIONS);
  const { maxAttempts, initialDelayMs = 1, backoffFactor = 1, maxDelayMs = 1, retryOn } = retry;
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
    throw new ConfigurationError(`${owner}: retry.maxAttempts must be an integer of at least 1`);
  for (const [option, delayMs] of Object.entries({ initialDelayMs, maxDelayMs }))
    if (!(Number.isFinite(delayMs) && delayMs >= 0 && delayMs <= MAX_TIMER_MS))
      throw new ConfigurationError(`${owner}: retry.${option} must be from 0 to ${MAX_TIMER_MS}`);
  if (!(backoffFactor >= 1 && Number.isFinite(backoffFactor)))
    throw new ConfigurationError(`${owner}: retry.backoffFactor must be a number of at least 1`);
  if (retryOn !== undefined && typeof retryOn !== 'function')
    throw new ConfigurationError(`${owner}: retry.retryOn must be a function`);
}

/**
 * True when a failed attempt, counted from 1, is followed by another one.
 * @throws NodeError for a `retryOn` that throws; its cause is the failure that was asked about
 */
export async function isWorthRetry(
  nodeName: string,
  retry: RetryConfig | undefined,
  attempt: number,
  error: unknown,
): Promise<boolean> {
  if (!retry || attempt >= retry.maxAttempts) return false;
  if (RunAbortedError.isInstance(error) || ConfigurationError.isInstance(error)) return false;
  if (!retry.retryOn) return true;
  try {
    return await retry.retryOn(error);
  } catch (thrown) {
    const failures = [error, thrown].map((each) => toError(each).message);
    throw new NodeError(nodeName, `failed: ${failures[0]}; and so did its retryOn: ${failures[1]}`, { cause: error });
  }
}

/** Returns the wait after a failed attempt, in milliseconds. @param attempt counted from 1 */
export function delayAfter(retry: RetryConfig, attempt: number): number {
  const { initialDelayMs = 1000, backoffFactor = 2, maxDelayMs = 60_000 } = retry;
  return Math.min(maxDelayMs, initialDelayMs * backoffFactor ** (attempt - 1));
}

/** Waits on the platform's clock. @throws what the guard is aborted with meanwhile, and no timer is left */
export async function pause(platform: Platform, delayMs: number, guard: AbortGuard): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const callOff = platform.schedule(delayMs, resolve);
  try {
    await guard.until(promise);
  } finally {
    callOff();
  }
}
