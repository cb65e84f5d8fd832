import { type LlmRequest, ModelError, type Platform } from '@eventloom/core';
import type { GenerateContentParameters } from '@google/genai';
import type { GenAiClient, OwnGenAiClient } from '../client/genai-client.ts';
import { CachedRequest } from './cached-request.ts';

/**
 * Time without further attempts after a cache could not be created, in milliseconds: contents that are too small for the service, or too
 * large for its quota, do not change soon.
 */
const PAUSE_MS = 60_000;

/** The service whose caches are used, and the request to cache. */
export interface CacheTarget {
  readonly client: GenAiClient | OwnGenAiClient;
  /** The parameters of the request without a cache. */
  readonly parameters: GenerateContentParameters;
  readonly abortSignal: AbortSignal;
}

/** The caches of a model at its service. Events of replies hold their names, so that every process finds them. */
export class ContextCaches {
  readonly #platform: Platform;
  readonly #apiVersion: string | undefined;
  #pausedUntilMs = 0;

  /** @param apiVersion the version of the Gemini API that is called; undefined for the client's default */
  constructor(platform: Platform, apiVersion: string | undefined) {
    this.#platform = platform;
    this.#apiVersion = apiVersion;
  }

  /** Returns the caching of one request; undefined if the request disables it or names a cache itself. */
  begin(request: LlmRequest): CachedRequest | undefined {
    if (!request.cacheConfig || request.config.cachedContent !== undefined) return undefined;
    return new CachedRequest(request, this);
  }

  /** The current time in seconds since the epoch. */
  get now(): number {
    return this.#platform.now() / 1000;
  }

  /** Returns the API version for caches: version 1 of the Gemini API, the default of our own client, has none. */
  versionFor({ vertexai, ...client }: GenAiClient | OwnGenAiClient): { readonly apiVersion?: string } {
    return vertexai || !('own' in client) || this.#apiVersion !== undefined ? {} : { apiVersion: 'v1beta' };
  }

  /** Creates a cache of the first contents, the instruction and the tools. Returns its name; undefined if none can be created now. */
  async create(
    { client, parameters, abortSignal }: CacheTarget,
    contentsCount: number,
    ttlSeconds: number,
  ): Promise<string | undefined> {
    if (!client.caches || this.#platform.now() < this.#pausedUntilMs) return undefined;
    const { systemInstruction, tools, toolConfig } = parameters.config ?? {};
    try {
      const { name } = await client.caches.create({
        model: parameters.model,
        config: {
          contents: Array.isArray(parameters.contents) ? parameters.contents.slice(0, contentsCount) : [],
          ...(systemInstruction !== undefined && { systemInstruction }),
          // All tools here are plain declarations, and not callable tools of the client library.
          ...(tools && { tools: tools as object[] }),
          ...(toolConfig && { toolConfig }),
          ttl: `${ttlSeconds}s`,
          abortSignal,
          httpOptions: this.versionFor(client),
        },
      });
      return name;
    } catch (error) {
      if (abortSignal.aborted) return undefined;
      this.#pausedUntilMs = this.#platform.now() + PAUSE_MS;
      this.report('a cache could not be made', error);
      return undefined;
    }
  }

  /** Deletes an unused cache in the background. */
  remove({ client }: CacheTarget, name: string): void {
    const removed = client.caches?.delete({ name, config: { httpOptions: this.versionFor(client) } });
    removed?.catch((error: unknown) => this.report('a cache could not be deleted', error));
  }

  /** Reports a cache failure to the platform. The request is sent without the cache. */
  report(what: string, cause: unknown): void {
    const reason = ModelError.isInstance(cause) ? cause.message : statusOf(cause);
    this.#platform.background(
      Promise.reject(new ModelError(`context caching: ${what} (${reason})`, { errorCode: 'CONTEXT_CACHE' })),
    );
  }
}

/** Returns the status of a failed call. Its message may contain the key and is not reported. */
function statusOf(error: unknown): string {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' ? `status ${status}` : 'no answer';
}
