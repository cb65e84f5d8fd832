import { type GenerateContentParameters, Models } from '@google/genai';
import type { ApiRequest, KeyedApi } from './keyed-api.ts';

/** The client that the API classes of `@google/genai` are constructed with. */
export type ApiClient = ConstructorParameters<typeof Models>[0];

/** The request that `Models` of `@google/genai` would send. */
interface DraftedRequest {
  /** The name of the model in the form that addresses contain. */
  readonly model: string;
  /** The JSON of the body. */
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Returns the body of a request without sending it. Caches and live connections use it too: `Models` already has the conversions, and
 * `Caches` and `Live` of the client would each load them again.
 */
export async function draftRequest(
  api: KeyedApi,
  { config, ...parameters }: GenerateContentParameters,
): Promise<DraftedRequest> {
  const { promise, resolve } = Promise.withResolvers<ApiRequest>();
  const client = {
    isVertexAI: () => api.isVertexAI(),
    // The client library calls this function if tools come from an MCP server.
    getDefaultHeaders: () => ({}),
    request: async (request: ApiRequest) => {
      resolve(request);
      return { headers: {}, json: async () => ({}) };
    },
  };
  await new Models(client as unknown as ApiClient).generateContent({
    ...parameters,
    config: { ...config, automaticFunctionCalling: { disable: true } },
  });
  const { path, body } = await promise;
  return { model: path.slice(0, path.lastIndexOf(':')), body: JSON.parse(body) as DraftedRequest['body'] };
}
