import { ConfigurationError, type Platform } from '@eventloom/core';
import { checkOptions, type OptionRules, wrongOption } from '@eventloom/core/internal';
import { requireArgument } from '../check-arguments.ts';

/** The class of an error. */
export type ErrorClass = new (...args: never[]) => Error;

/** Retries of a workflow node that failed, for programs that were written for `@google/adk`. */
export interface AdkRetryConfig {
  /** Attempts in all, the first one included; `Infinity` for no limit. Default 5. */
  maxAttempts?: number | undefined;
  /** Seconds before the second attempt. Default 1. */
  initialDelay?: number | undefined;
  /** Longest delay in seconds; `Infinity` for no limit. Default 60. */
  maxDelay?: number | undefined;
  /** Factor by which each delay is longer than the one before. Default 2. */
  backoffFactor?: number | undefined;
  /** Part of a delay that is random: 0 for none, 1 for delays between 0 and twice as long. Default 1. */
  jitter?: number | undefined;
  /** The errors that are retried, by class or by name. Default: all. */
  exceptions?: readonly (string | ErrorClass)[] | null | undefined;
}

/** A `RetryConfig` with its errors as names. */
export interface PreparedRetryConfig extends Omit<AdkRetryConfig, 'exceptions'> {
  readonly exceptions?: readonly string[] | undefined;
}

/** Returns the names of errors; undefined for all errors. @throws ConfigurationError for a value that is neither a name nor a class */
export function normalizeRetryExceptions(exceptions?: AdkRetryConfig['exceptions']): string[] | undefined {
  const isList = exceptions === undefined || exceptions === null || Array.isArray(exceptions);
  requireArgument(isList, 'retryConfig.exceptions', 'a list', exceptions, "exceptions: ['TypeError']");
  return exceptions?.map((each) => {
    const name = typeof each === 'function' ? each.name : each;
    if (typeof name === 'string' && name !== '') return name;
    throw new ConfigurationError(
      "retryConfig.exceptions: expected error classes or their names; write exceptions: ['TypeError']",
    );
  });
}

const OPTIONS: OptionRules<AdkRetryConfig> = {
  maxAttempts: 'any',
  initialDelay: 'any',
  maxDelay: 'any',
  backoffFactor: 'any',
  jitter: 'any',
  exceptions: 'any',
};

const MAY_BE_INFINITE: ReadonlySet<string> = new Set(['maxAttempts', 'maxDelay'] satisfies (keyof AdkRetryConfig)[]);
/** The longest delay of a timer, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/** Checks a `RetryConfig`. @throws ConfigurationError for an invalid value, and for a name that is not an option */
export function prepareRetryConfig(config: AdkRetryConfig): PreparedRetryConfig {
  checkOptions('retryConfig', OPTIONS, config, {}, '{ maxAttempts: 3 }');
  const { exceptions, ...numbers } = config;
  for (const [option, value] of Object.entries(numbers))
    if (value !== undefined && !(value >= 0 && (Number.isFinite(value) || MAY_BE_INFINITE.has(option))))
      throw wrongOption('retryConfig', option, 'a number of at least 0', value, '1');
  return { ...numbers, exceptions: normalizeRetryExceptions(exceptions) };
}

/** Returns true if another attempt follows a failed one. @param attempt number of the failed attempt, from 1 */
export function isRetried(
  { maxAttempts = 5, exceptions }: PreparedRetryConfig,
  attempt: number,
  error: unknown,
): boolean {
  if (attempt >= maxAttempts) return false;
  return exceptions === undefined || namesOf(error).some((name) => exceptions.includes(name));
}

/** Returns the delay after a failed attempt in milliseconds. */
export function delayMsAfter(config: PreparedRetryConfig, attempt: number, platform: Platform): number {
  const { initialDelay = 1, maxDelay = 60, backoffFactor = 2, jitter = 1 } = config;
  const grown = initialDelay === 0 ? 0 : initialDelay * backoffFactor ** (attempt - 1);
  const delay = Math.min(grown, maxDelay / (1 + jitter));
  return Math.min(
    LONGEST_MS,
    Math.min(maxDelay, Math.max(0, delay * (1 + jitter * (2 * platform.random() - 1)))) * 1000,
  );
}

/**
 * Returns the names by which a retry config can select an error: that of its class, and its own. A value that is not an
 * object has its type as name.
 */
export function namesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [typeof error];
  if (!(error instanceof Error)) return [error.constructor?.name ?? 'Object'];
  return [...new Set([error.constructor.name, error.name])];
}
