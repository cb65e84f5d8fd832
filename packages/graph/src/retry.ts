import { checkOptions, integer, wrongOption } from '@eventloom/core/internal';
import { ConfigurationError, type Platform, RunAbortedError, toError } from '@eventloom/core';
import type { AbortGuard, OptionRules } from '@eventloom/core/internal';
import { NodeError } from './errors.ts';

/** Retries of a failed node: the number of attempts, and the delays between them. */
export interface NodeRetryOptions {
  /** Maximum number of attempts, the first one included. */
  readonly maxAttempts: number;
  /** Delay before the second attempt, in milliseconds. Default 1,000. */
  readonly initialDelayMs?: number;
  /** Factor by which each delay is longer than the previous one. Default 2. */
  readonly backoffFactor?: number;
  /** Maximum delay in milliseconds. Default 60,000. */
  readonly maxDelayMs?: number;
  /**
   * Returns true if the failure should be retried. If it throws, the node fails. Not called for configuration errors
   * and aborted runs, which are never retried. Default: all other failures are retried.
   */
  readonly retryOn?: (error: unknown) => boolean | Promise<boolean>;
}

/** The longest timer that every runtime supports, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

const DELAY = { is: 'number', min: 0, max: MAX_TIMER_MS } as const;
const OPTIONS: OptionRules<NodeRetryOptions> = {
  maxAttempts: integer(1, Number.MAX_SAFE_INTEGER),
  initialDelayMs: DELAY,
  backoffFactor: { is: 'number', min: 1, max: Number.MAX_VALUE },
  maxDelayMs: DELAY,
  retryOn: 'function',
};

/** Checks the retries of a node. @throws ConfigurationError for an invalid option; the message begins with `owner` */
export function checkRetry(owner: string, retry: NodeRetryOptions): void {
  checkOptions(`${owner}: retry`, OPTIONS, retry);
  const { maxAttempts } = retry;
  if (maxAttempts === undefined)
    throw wrongOption(`${owner}: retry`, 'maxAttempts', 'an integer of at least 1', maxAttempts, '3');
}

/**
 * Decides whether another attempt follows a failed one.
 * @param attempt number of the failed attempt, from 1
 * @throws NodeError if `retryOn` throws; its cause is the failure of the attempt
 */
export async function isWorthRetry(
  nodeName: string,
  retry: NodeRetryOptions | undefined,
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

/** Returns the delay after a failed attempt, in milliseconds. @param attempt number of the failed attempt, from 1 */
export function delayAfter(retry: NodeRetryOptions, attempt: number): number {
  const { initialDelayMs = 1000, backoffFactor = 2, maxDelayMs = 60_000 } = retry;
  return Math.min(maxDelayMs, initialDelayMs * backoffFactor ** (attempt - 1));
}

/** Waits on the platform's clock. Rejects with the guard's reason if the guard is aborted meanwhile, and cancels the timer. */
export async function pause(platform: Platform, delayMs: number, guard: AbortGuard): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const callOff = platform.schedule(delayMs, resolve);
  try {
    await guard.until(promise);
  } finally {
    callOff();
  }
}
