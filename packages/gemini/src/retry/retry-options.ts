import { ConfigurationError } from '@eventloom/core';

/** How a failed call is tried again: on 408, 429, 5xx and lost connections, as long as nothing of a reply was passed on. */
export interface RetryOptions {
  /** How often the service is asked, the first time included. Default 4; 1 means no retry. */
  readonly attempts?: number | undefined;
  /** The wait before the second attempt; it doubles each time. Default 1,000 ms. */
  readonly initialDelayMs?: number | undefined;
  /**
   * No wait is longer. A service that asks for more than that is not asked again: its error is thrown at once, with
   * `retryAfterMs`. Default 60,000 ms.
   */
  readonly maxDelayMs?: number | undefined;
  /** How much of a wait is left to chance, 0 to 1, so that clients that failed together do not come back together. Default 0.5. */
  readonly jitter?: number | undefined;
  /** Numbers from 0 up to 1, for the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The options with their defaults. */
export type Retry = { readonly [K in keyof RetryOptions]-?: NonNullable<RetryOptions[K]> };

/** @throws ConfigurationError for numbers that make no sense */
export function toRetry(options: RetryOptions = {}): Retry {
  const { attempts = 4, initialDelayMs = 1000, maxDelayMs = 60_000, jitter = 0.5, random = Math.random } = options;
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new ConfigurationError(`gemini: retry.attempts must be a whole number of at least 1, is ${attempts}`);
  }
  for (const [name, value, limit] of [
    ['initialDelayMs', initialDelayMs, Number.MAX_SAFE_INTEGER],
    ['maxDelayMs', maxDelayMs, Number.MAX_SAFE_INTEGER],
    ['jitter', jitter, 1],
  ] as const) {
    if (value >= 0 && value <= limit) continue;
    throw new ConfigurationError(
      `gemini: retry.${name} must be ${limit === 1 ? 'from 0 to 1' : '0 or more'}, is ${value}`,
    );
  }
  return { attempts, initialDelayMs, maxDelayMs, jitter, random };
}
