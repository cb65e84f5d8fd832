import { type CacheMetadata, type Content, type LlmRequest, ModelError } from '@eventloom/core';
import { CONTEXT_CACHE_DEFAULTS } from '@eventloom/core/internal';
import type { GenerateContentParameters } from '@google/genai';
import type { CacheTarget, ContextCaches } from './context-caches.ts';

/** One request whose beginning may be replaced by a cache, for all of its attempts. */
export class CachedRequest {
  readonly #request: LlmRequest;
  readonly #caches: ContextCaches;
  #metadata: CacheMetadata | undefined;

  constructor(request: LlmRequest, caches: ContextCaches) {
    this.#request = request;
    this.#caches = caches;
  }

  /** Cache metadata for the reply; undefined before the request was sent. */
  get metadata(): CacheMetadata | undefined {
    return this.#metadata;
  }

  /** Returns the parameters to send. The first attempt decides about the cache; retries send the same parameters. */
  async apply(target: CacheTarget): Promise<GenerateContentParameters> {
    const { parameters, client } = target;
    this.#metadata ??= await this.#decide(target);
    const { cacheName, contentsCount } = this.#metadata;
    if (cacheName === undefined || !Array.isArray(parameters.contents)) return parameters;
    const { systemInstruction: _i, tools: _t, toolConfig: _c, ...config } = parameters.config ?? {};
    return {
      ...parameters,
      contents: parameters.contents.slice(contentsCount),
      config: {
        ...config,
        cachedContent: cacheName,
        httpOptions: { ...this.#caches.versionFor(client), ...config.httpOptions },
      },
    };
  }

  /**
   * Stops using the cache if the request may have failed because of it. Returns true if the request can be sent again
   * without the cache.
   */
  dropCache(error: unknown): boolean {
    const { cacheName, fingerprint, contentsCount } = this.#metadata ?? {};
    if (cacheName === undefined || fingerprint === undefined || contentsCount === undefined) return false;
    if (!ModelError.isInstance(error) || ![400, 403, 404].includes(error.status ?? 0)) return false;
    this.#caches.report('a request with a cache was refused and is sent without', error);
    this.#metadata = { fingerprint, contentsCount };
    return true;
  }

  async #decide(target: CacheTarget): Promise<CacheMetadata> {
    const { cacheMetadata: known, cacheConfig, cacheableContentsTokenCount: tokens, contents } = this.#request;
    const {
      cacheIntervals = CONTEXT_CACHE_DEFAULTS.cacheIntervals,
      ttlSeconds = CONTEXT_CACHE_DEFAULTS.ttlSeconds,
      minTokens = CONTEXT_CACHE_DEFAULTS.minTokens,
    } = cacheConfig ?? {};
    const { parameters } = target;
    const begins =
      known !== undefined &&
      known.contentsCount < contents.length &&
      (await fingerprintOf(parameters, known.contentsCount)) === known.fingerprint;
    const { cacheName, expireTime = 0, invocationsUsed = 0 } = known ?? {};
    if (known && cacheName !== undefined) {
      const isLive = this.#caches.now < expireTime;
      if (begins && isLive && invocationsUsed <= cacheIntervals) return known;
      if (isLive) this.#caches.remove(target, cacheName);
    }
    // A cache holds content that was sent before and will be sent again, so the first request of a session creates no cache.
    const contentsCount = beginOfLastTurn(contents);
    if (begins && contentsCount > 0 && tokens !== undefined && tokens >= minTokens) {
      const createdAt = this.#caches.now;
      const name = await this.#caches.create(target, contentsCount, ttlSeconds);
      if (name !== undefined) {
        return {
          cacheName: name,
          expireTime: createdAt + ttlSeconds,
          fingerprint: await fingerprintOf(parameters, contentsCount),
          invocationsUsed: 1,
          contentsCount,
          createdAt,
        };
      }
    }
    return { fingerprint: await fingerprintOf(parameters, contents.length), contentsCount: contents.length };
  }
}

/** Returns the index at which the user's last turn begins. A cache must end before it, because a request needs contents of its own. */
function beginOfLastTurn(contents: readonly Content[]): number {
  return contents.findLastIndex(({ role }) => role === 'model') + 1;
}

/**
 * Returns a digest of everything that a cache of the request would hold (model, instruction, tools and the first
 * contents), as 16 hexadecimal digits.
 */
async function fingerprintOf(
  { model, contents, config }: GenerateContentParameters,
  contentsCount: number,
): Promise<string> {
  const { systemInstruction, tools, toolConfig } = config ?? {};
  const first = Array.isArray(contents) ? contents.slice(0, contentsCount) : [];
  const text = JSON.stringify([model, systemInstruction, tools, toolConfig, first]);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
