// On node; elsewhere web/create-genai-client.ts takes its place: see `imports` in the manifest.
import { type GeminiClientOptions, LIVE_API_VERSION } from './client-options.ts';
import type { OwnGenAiClient } from './genai-client.ts';

/**
 * Makes a client of `@google/genai`. `options` win over the environment variables that the client reads on node.
 * Loads the library here, because importing it takes longer than importing all of Eventloom.
 */
export async function createGenAiClient(options: GeminiClientOptions): Promise<OwnGenAiClient> {
  const { GoogleGenAI } = await import('@google/genai');
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
