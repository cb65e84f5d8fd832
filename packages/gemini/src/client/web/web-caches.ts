import {
  type CachedContent,
  type CreateCachedContentParameters,
  type DeleteCachedContentParameters,
  type GenerateContentParameters,
  Models,
} from '@google/genai';
import type { ApiRequest, KeyedApi } from './keyed-api.ts';

type ApiClient = ConstructorParameters<typeof Models>[0];

/**
 * What is used of `Caches` of @google/genai. A cache holds what a request begins with, so `Models` words it, which is there
 * anyway; `Caches` has all of its conversions a second time.
 */
export class WebCaches {
  readonly #api: KeyedApi;

  constructor(api: KeyedApi) {
    this.#api = api;
  }

  /** @throws ApiError for a status other than 2xx; what fetch throws */
  async create({ model, config = {} }: CreateCachedContentParameters): Promise<CachedContent> {
    const { contents = [], systemInstruction, tools, toolConfig, httpOptions, abortSignal, ...rest } = config;
    const { path, body } = await this.#draft({
      model,
      contents,
      config: {
        ...(systemInstruction !== undefined && { systemInstruction }),
        // A copy: the declarations are rewritten where they are.
        ...(tools && { tools: structuredClone(tools) }),
        ...(toolConfig && { toolConfig }),
      },
    });
    const { generationConfig: _, ...begin } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const created = await this.#api.request({
      path: 'cachedContents',
      body: JSON.stringify({ model: this.#whole(path.slice(0, path.lastIndexOf(':'))), ...begin, ...rest }),
      httpMethod: 'POST',
      httpOptions,
      abortSignal,
    });
    return (await created.json()) as CachedContent;
  }

  /** @throws ApiError for a status other than 2xx; what fetch throws */
  async delete({ name, config: { httpOptions } = {} }: DeleteCachedContentParameters): Promise<void> {
    const path = this.#whole(name);
    await this.#api.request({ path, body: '{}', httpMethod: 'DELETE', httpOptions });
  }

  /** The request that would be sent for an answer. */
  async #draft(parameters: GenerateContentParameters): Promise<ApiRequest> {
    const { promise, resolve } = Promise.withResolvers<ApiRequest>();
    const client = {
      isVertexAI: () => this.#api.isVertexAI(),
      request: async (request: ApiRequest) => {
        resolve(request);
        return { headers: {}, json: async () => ({}) };
      },
    };
    await new Models(client as unknown as ApiClient).generateContent(parameters);
    return promise;
  }

  /** The name of a resource; on Vertex AI with the project that it is in. */
  #whole(name: string): string {
    const api = this.#api;
    if (!api.isVertexAI() || name.startsWith('projects/')) return name;
    const place = name.replace(/^models\//, 'publishers/google/models/');
    return `projects/${api.getProject()}/locations/${api.getLocation()}/${place}`;
  }
}
