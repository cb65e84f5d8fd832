import { checkOptions, integer, type OptionRules } from '../agent/options.ts';
import { ModelError, RunAbortedError } from '../errors.ts';
import type { Platform } from '../platform/platform.ts';

/** Retries of a failed call. Calls are retried on 408, 429, 5xx and lost connections, as long as no part of a reply was passed on. */
export interface RetryOptions {
  /** Maximum number of attempts, the first one included. Default 4; 1 means no retry. */
  readonly attempts?: number | undefined;
  /** Delay before the second attempt, in milliseconds. It doubles with each further attempt. Default 1,000. */
  readonly initialDelayMs?: number | undefined;
  /**
   * Maximum delay in milliseconds. If the service asks for a longer delay, the call is not retried, and its error is
   * thrown with `retryAfterMs`. Default 60,000.
   */
  readonly maxDelayMs?: number | undefined;
  /** Random share of a delay, from 0 to 1, which keeps clients from retrying at the same time. Default 0.5. */
  readonly jitter?: number | undefined;
}

/** The options with defaults applied. */
export type Retry = { readonly [K in keyof RetryOptions]-?: NonNullable<RetryOptions[K]> };

const DELAY = { is: 'number', min: 0, max: Number.MAX_SAFE_INTEGER } as const;
const OPTIONS: OptionRules<RetryOptions> = {
  attempts: integer(1),
  initialDelayMs: DELAY,
  maxDelayMs: DELAY,
  jitter: { is: 'number', min: 0, max: 1 },
};

/**
 * Returns complete options: those of a class, with the defaults for the others.
 * @param owner the class that has the option, for error messages, e.g. `Gemini`
 * @throws ConfigurationError for invalid numbers, and for an option name that this version does not know
 */
export function toRetry(owner: string, options: RetryOptions = {}): Retry {
  checkOptions(`${owner}: retry`, OPTIONS, options);
  const { attempts = 4, initialDelayMs = 1000, maxDelayMs = 60_000, jitter = 0.5 } = options;
  return { attempts, initialDelayMs, maxDelayMs, jitter };
}

/** Calls `ask` until it succeeds. Throws the error of `ask` if it is not retryable or if no attempt is left. */
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
      const delayMs = retryDelayMs(attempt, error.retryAfterMs, retry, platform);
      if (delayMs === undefined) throw error;
      await wait(delayMs, platform, signal);
    }
  }
}

/**
 * Returns the delay in milliseconds after a failed attempt; undefined if the call should not be retried. The delay that
 * the service asks for is a minimum: jitter is added to it, but subtracted from the computed delay.
 * @param attempt number of the failed attempt, from 1
 */
function retryDelayMs(
  attempt: number,
  askedMs: number | undefined,
  { attempts, initialDelayMs, maxDelayMs, jitter }: Retry,
  platform: Platform,
): number | undefined {
  if (attempt >= attempts) return undefined;
  const ownMs = Math.min(initialDelayMs * 2 ** (attempt - 1), maxDelayMs) * (1 - jitter * platform.random());
  if (askedMs === undefined) return ownMs;
  if (askedMs > maxDelayMs) return undefined;
  return Math.max(askedMs, ownMs) + Math.min(initialDelayMs, askedMs) * jitter * platform.random();
}

/** Waits on the platform's clock. @throws RunAbortedError as soon as the signal is aborted */
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

/** True when the same request may succeed later. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/** Returns the milliseconds that a `Retry-After` header (seconds, or a date) asks to wait; undefined if it is neither. */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | undefined {
  if (header === null || header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.round(seconds * 1000) : undefined;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/**
 * The code of a failed model call by HTTP status: `google.rpc.Code` (googleapis, google/rpc/code.proto), also for the
 * services of other vendors.
 */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Returns the error code for an HTTP status. */
export function statusCode(status: number): string {
  return BY_STATUS[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
}
