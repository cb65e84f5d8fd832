// The version for Node; other runtimes get web/create-genai-client.ts, see `imports` in the manifest.
import { type GeminiClientOptions, liveApiVersionOf } from './client-options.ts';
import type { OwnGenAiClient } from './genai-client.ts';

/**
 * Creates a client of `@google/genai`. `options` take precedence over the environment variables that the client reads on Node.
 * Loads the library at the call, because its import takes longer than that of all of Eventloom.
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
  const liveApiVersion = liveApiVersionOf(options);
  return {
    vertexai,
    models: client.models,
    caches: client.caches,
    get live() {
      if (liveApiVersion === undefined) return client.live;
      const liveOptions = { ...clientOptions.httpOptions, apiVersion: liveApiVersion };
      return new GoogleGenAI({ ...clientOptions, httpOptions: liveOptions }).live;
    },
    own: { fetch: httpOptions?.fetch },
  };
}
