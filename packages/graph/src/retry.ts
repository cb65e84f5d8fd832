import { ConfigurationError, type Platform, RunAbortedError } from '@eventloom/core';

/** How often, and after how long, a node is tried again that failed. */
export interface RetryConfig {
  /** Attempts in all, the first one included. */
  readonly maxAttempts: number;
  /** Before the second attempt. Default 1,000. */
  readonly initialDelayMs?: number;
  /** How much longer each wait is than the one before. Default 2. */
  readonly backoffFactor?: number;
  /** No wait is longer. Default 60,000. */
  readonly maxDelayMs?: number;
  /** Which failures are worth another attempt. Default: all but mistakes in the set-up, and the run's own end. */
  readonly retryOn?: (error: unknown) => boolean;
}

/** The longest timer that every runtime has. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

const OPTIONS = new Set<string>([
  'maxAttempts',
  'initialDelayMs',
  'backoffFactor',
  'maxDelayMs',
  'retryOn',
] satisfies (keyof RetryConfig)[]);

/** @throws ConfigurationError that names the owner */
export function checkRetry(owner: string, retry: RetryConfig): void {
  for (const option in retry) {
    if (!OPTIONS.has(option))
      throw new ConfigurationError(`${owner}: retry has no option "${option}"; it has ${[...OPTIONS].join(', ')}`);
  }
  const { maxAttempts, initialDelayMs = 1, backoffFactor = 1, maxDelayMs = 1, retryOn } = retry;
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
    throw new ConfigurationError(`${owner}: retry.maxAttempts must be an integer of at least 1`);
  for (const [option, delayMs] of Object.entries({ initialDelayMs, maxDelayMs }))
    if (!(delayMs >= 0 && delayMs <= MAX_TIMER_MS))
      throw new ConfigurationError(`${owner}: retry.${option} must be from 0 to ${MAX_TIMER_MS}`);
  if (!(backoffFactor >= 1 && Number.isFinite(backoffFactor)))
    throw new ConfigurationError(`${owner}: retry.backoffFactor must be a number of at least 1`);
  if (retryOn !== undefined && typeof retryOn !== 'function')
    throw new ConfigurationError(`${owner}: retry.retryOn must be a function`);
}

/** True when a failed attempt, counted from 1, is followed by another one. */
export function isWorthRetry(retry: RetryConfig | undefined, attempt: number, error: unknown): boolean {
  if (!retry || attempt >= retry.maxAttempts) return false;
  if (RunAbortedError.isInstance(error) || ConfigurationError.isInstance(error)) return false;
  return retry.retryOn?.(error) ?? true;
}

/** How long the wait is after a failed attempt, counted from 1. */
export function delayAfter(retry: RetryConfig, attempt: number): number {
  const { initialDelayMs = 1000, backoffFactor = 2, maxDelayMs = 60_000 } = retry;
  return Math.min(maxDelayMs, initialDelayMs * backoffFactor ** (attempt - 1));
}

/** Waits on the platform's clock. @param onTimer is given what calls the timer off */
export function wait(platform: Platform, delayMs: number, onTimer: (callOff: () => void) => void): Promise<void> {
  return new Promise((resolve) => onTimer(platform.schedule(delayMs, resolve)));
}
