import type { ApiClient } from './draft-request.ts';
// Replaces ../create-genai-client.ts outside Node, see `imports` in the manifest.
import { ConfigurationError } from '@eventloom/core';
import { Models } from '@google/genai';
import { type GeminiClientOptions, liveApiVersionOf } from '../client-options.ts';
import type { OwnGenAiClient } from '../genai-client.ts';
import { KeyedApi } from './keyed-api.ts';
import { WebCaches } from './web-caches.ts';
import { createWebLive } from './web-live.ts';

/**
 * Creates a client of only those parts of `@google/genai` that are used: `GoogleGenAI` would more than double the size that they add to a
 * Worker. A key is required, because Google's default credentials exist on Node only.
 */
export function createGenAiClient(options: GeminiClientOptions): OwnGenAiClient {
  const { apiKey, vertexai = false, httpOptions } = options;
  if (!apiKey) throw new ConfigurationError("Google's default credentials are available only on node; pass an apiKey");
  const keyed = { ...options, apiKey };
  const api = new KeyedApi(keyed);
  const liveApiVersion = liveApiVersionOf(options);
  return {
    vertexai,
    models: new Models(api as unknown as ApiClient),
    caches: new WebCaches(api),
    live: createWebLive(liveApiVersion === undefined ? api : new KeyedApi({ ...keyed, apiVersion: liveApiVersion })),
    own: { fetch: httpOptions?.fetch },
  };
}
