import { ConfigurationError } from '../errors/configuration-error.ts';

/** Whether and how model services keep what requests begin with. (ADK, `ContextCacheConfig`.) */
export interface ContextCacheConfig {
  /** Invocations that use a cache before it is made anew, with what was said since: 1 to 100. Default 10. */
  readonly cacheIntervals?: number | undefined;
  /** How long a cache is kept; the service charges for it. Default 1800. */
  readonly ttlSeconds?: number | undefined;
  /** A prompt of fewer tokens is not worth a cache. Default 0. */
  readonly minTokens?: number | undefined;
}

/** What stands for an option that is not given. */
export const CONTEXT_CACHE_DEFAULTS = {
  cacheIntervals: 10,
  ttlSeconds: 1800,
  minTokens: 0,
} as const satisfies ContextCacheConfig;

const RANGES: Readonly<Record<keyof ContextCacheConfig, readonly [number, number]>> = {
  cacheIntervals: [1, 100],
  ttlSeconds: [1, Infinity],
  minTokens: [0, Infinity],
};

/** @throws ConfigurationError for a config that cannot work, and for an option this version does not have */
export function checkContextCacheConfig(config: ContextCacheConfig): void {
  for (const [option, value] of Object.entries(config)) {
    const range = Object.hasOwn(RANGES, option) ? RANGES[option as keyof ContextCacheConfig] : undefined;
    if (!range) throw new ConfigurationError(`contextCacheConfig: ${option} is not supported by this version`);
    const [least, most] = range;
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most))
      throw new ConfigurationError(`contextCacheConfig: ${option} must be an integer from ${least} to ${most}`);
  }
}
