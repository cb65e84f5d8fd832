// Stands in for ../create-genai-client.ts wherever there is no node: see `imports` in the manifest.
import { ConfigurationError } from '@eventloom/core';
import { Caches, Models } from '@google/genai';
import type { GeminiClientOptions } from '../client-options.ts';
import type { OwnGenAiClient } from '../genai-client.ts';
import { KeyedApi } from './keyed-api.ts';

/** What these parts of @google/genai are made of. They take any object that answers as it does; its class is not exported. */
type ApiClient = ConstructorParameters<typeof Models>[0];

/**
 * Makes a client of those parts of @google/genai that are used: `GoogleGenAI` has all of them, and more than doubles what a Worker
 * uploads for it. As there, a key is needed: Google's default credentials are on node only.
 */
export function createGenAiClient(options: GeminiClientOptions): OwnGenAiClient {
  const { apiKey, vertexai = false, httpOptions } = options;
  if (!apiKey) throw new ConfigurationError("Google's default credentials are on node only; pass an apiKey");
  const api = new KeyedApi({ ...options, apiKey }) as unknown as ApiClient;
  return { vertexai, models: new Models(api), caches: new Caches(api), own: { fetch: httpOptions?.fetch } };
}
