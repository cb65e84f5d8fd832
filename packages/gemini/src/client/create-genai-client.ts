// Loaded at the first call of a model, on node (see deferred.ts); elsewhere web/create-genai-client.ts is: see `imports` in the manifest.
import { GoogleGenAI } from '@google/genai';
import { type GeminiClientOptions, LIVE_API_VERSION } from './client-options.ts';
import type { OwnGenAiClient } from './genai-client.ts';

/** Makes a client of @google/genai. What is given wins over the environment variables that the client reads on node. */
export function createGenAiClient(options: GeminiClientOptions): OwnGenAiClient {
  const { apiKey, vertexai = false, project, location, headers, baseUrl, apiVersion, httpOptions } = options;
  const clientOptions = {
    vertexai,
    ...(apiKey && { apiKey }),
    ...(vertexai && project && { project, location: location ?? 'global' }),
    httpOptions: {
      ...httpOptions,
      ...(baseUrl && { baseUrl }),
      ...(apiVersion && { apiVersion }),
      headers: { ...httpOptions?.headers, ...headers },
    },
  };
  const client = new GoogleGenAI(clientOptions);
  const isVersionOpen = !vertexai && clientOptions.httpOptions.apiVersion === undefined;
  return {
    vertexai,
    models: client.models,
    caches: client.caches,
    get live() {
      if (!isVersionOpen) return client.live;
      const liveOptions = { ...clientOptions.httpOptions, apiVersion: LIVE_API_VERSION };
      return new GoogleGenAI({ ...clientOptions, httpOptions: liveOptions }).live;
    },
    own: { fetch: httpOptions?.fetch },
  };
}
