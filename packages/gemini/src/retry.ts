import { ConfigurationError, ModelError, type Platform, RunAbortedError } from '@eventloom/core';
import { type OptionNames, checkKnown } from '@eventloom/core/internal';

/** Retries of a failed call: on 408, 429, 5xx and lost connections, until the first part of a reply was passed on. */
export interface RetryOptions {
  /** Number of attempts, the first one included. Default 4; 1 means no retry. */
  readonly attempts?: number | undefined;
  /** The wait before the second attempt; it doubles each time. Default 1,000 ms. */
  readonly initialDelayMs?: number | undefined;
  /**
   * No wait is longer. A service that asks for more than that is not asked again: its error is thrown at once, with
   * `retryAfterMs`. Default 60,000 ms.
   */
  readonly maxDelayMs?: number | undefined;
  /** Random share of a wait, from 0 to 1, so that clients that failed together do not retry together. Default 0.5. */
  readonly jitter?: number | undefined;
  /** Numbers from 0 up to 1, for the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The options with their defaults. */
export type Retry = { readonly [K in keyof RetryOptions]-?: NonNullable<RetryOptions[K]> };

const OPTIONS: OptionNames<RetryOptions> = {
  attempts: true,
  initialDelayMs: true,
  maxDelayMs: true,
  jitter: true,
  random: true,
};

/** @throws ConfigurationError for invalid numbers, and for an option this version does not have */
export function toRetry(options: RetryOptions = {}): Retry {
  checkKnown('Gemini: retry', OPTIONS, options);
  const { attempts = 4, initialDelayMs = 1000, maxDelayMs = 60_000, jitter = 0.5, random = Math.random } = options;
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new ConfigurationError(`Gemini: retry.attempts must be a whole number of at least 1, is ${attempts}`);
  }
  for (const [name, value, limit] of [
    ['initialDelayMs', initialDelayMs, Number.MAX_SAFE_INTEGER],
    ['maxDelayMs', maxDelayMs, Number.MAX_SAFE_INTEGER],
    ['jitter', jitter, 1],
  ] as const) {
    if (value >= 0 && value <= limit) continue;
    throw new ConfigurationError(
      `Gemini: retry.${name} must be ${limit === 1 ? 'from 0 to 1' : '0 or more'}, is ${value}`,
    );
  }
  return { attempts, initialDelayMs, maxDelayMs, jitter, random };
}

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

/**
 * Milliseconds to wait after the attempt of this number (1 is the first) failed; undefined when it is not to be tried again.
 * What the service asks for is a floor: jitter is added to it, and taken from the wait of our own.
 */
function retryDelayMs(attempt: number, askedMs: number | undefined, retry: Retry): number | undefined {
  const { attempts, initialDelayMs, maxDelayMs, jitter, random } = retry;
  if (attempt >= attempts) return undefined;
  const ownMs = Math.min(initialDelayMs * 2 ** (attempt - 1), maxDelayMs) * (1 - jitter * random());
  if (askedMs === undefined) return ownMs;
  if (askedMs > maxDelayMs) return undefined;
  return Math.max(askedMs, ownMs) + Math.min(initialDelayMs, askedMs) * jitter * random();
}

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
