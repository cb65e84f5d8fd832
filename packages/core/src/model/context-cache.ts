import { checkOptions, integer, type OptionRules } from '../agent/options.ts';
import { isRecord } from '../content/json.ts';

/** Options of context caches, which model services keep for the common beginning of requests. (ADK, `ContextCacheConfig`.) */
export interface ContextCacheConfig {
  /**
   * Number of invocations that use a cache before a new one is made that includes the later conversation: 1 to 100.
   * Default 10.
   */
  readonly cacheIntervals?: number | undefined;
  /** Lifetime of a cache in seconds; the service charges for it. Default 1800. */
  readonly ttlSeconds?: number | undefined;
  /** Minimum size of a prompt to be cached, in tokens. Default 0. */
  readonly minTokens?: number | undefined;
}

/** Defaults of the options. */
export const CONTEXT_CACHE_DEFAULTS = {
  cacheIntervals: 10,
  ttlSeconds: 1800,
  minTokens: 0,
} as const satisfies ContextCacheConfig;

const OPTIONS: OptionRules<ContextCacheConfig> = {
  cacheIntervals: integer(1, 100),
  ttlSeconds: integer(1),
  minTokens: integer(0),
};

/** Checks a cache config. @throws ConfigurationError for an invalid value and for an unknown option */
export function checkContextCacheConfig(config: ContextCacheConfig): void {
  checkOptions('contextCacheConfig', OPTIONS, config);
}

/**
 * Metadata of the cache that a reply was made with, on its event. Without `cacheName` the reply was made without a
 * cache, and the next request may create one. (ADK, `CacheMetadata`.)
 */
export interface CacheMetadata {
  /** Fingerprint of the content of the cache: the model's name, instruction, tools and the first contents. */
  readonly fingerprint: string;
  /** Number of contents that the fingerprint covers. */
  readonly contentsCount: number;
  readonly cacheName?: string;
  /** Seconds since the epoch. */
  readonly expireTime?: number;
  /** Invocations that used the cache, this one included. */
  readonly invocationsUsed?: number;
  /** Seconds since the epoch. */
  readonly createdAt?: number;
}

/** True for valid cache metadata. Events of other programs may contain anything. */
export function isCacheMetadata(value: unknown): value is CacheMetadata {
  if (!isRecord(value)) return false;
  const { fingerprint, contentsCount, cacheName, expireTime, invocationsUsed } = value;
  if (typeof fingerprint !== 'string' || typeof contentsCount !== 'number') return false;
  return cacheName === undefined
    ? true
    : typeof cacheName === 'string' && typeof expireTime === 'number' && typeof invocationsUsed === 'number';
}
