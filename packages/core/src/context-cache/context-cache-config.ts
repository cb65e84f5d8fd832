import { checkOptions, type Checks, integer } from '../agent/option-checks.ts';

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

const CHECKS: Checks<ContextCacheConfig> = {
  cacheIntervals: integer(1, 100),
  ttlSeconds: integer(1),
  minTokens: integer(0),
};

/** @throws ConfigurationError for a config that cannot work, and for an option this version does not have */
export function checkContextCacheConfig(config: ContextCacheConfig): void {
  checkOptions('contextCacheConfig', CHECKS, config);
}
