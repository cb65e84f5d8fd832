import { isRecord } from '../content/json.ts';

/**
 * What a model says of the cache that a reply was made with, on its event; without `cacheName` there was none, and the next
 * request may make one. (ADK, `CacheMetadata`.)
 */
export interface CacheMetadata {
  /** Of all that a cache holds, or would hold: the model's name, instruction, tools and the first contents. */
  readonly fingerprint: string;
  /** How many contents the fingerprint is of. */
  readonly contentsCount: number;
  readonly cacheName?: string;
  /** Seconds since the epoch. */
  readonly expireTime?: number;
  /** Invocations that used the cache, this one included. */
  readonly invocationsUsed?: number;
  /** Seconds since the epoch. */
  readonly createdAt?: number;
}

/** True for metadata as it is on events; those of elsewhere may hold anything. */
export function isCacheMetadata(value: unknown): value is CacheMetadata {
  if (!isRecord(value)) return false;
  const { fingerprint, contentsCount, cacheName, expireTime, invocationsUsed } = value;
  if (typeof fingerprint !== 'string' || typeof contentsCount !== 'number') return false;
  return cacheName === undefined
    ? true
    : typeof cacheName === 'string' && typeof expireTime === 'number' && typeof invocationsUsed === 'number';
}
