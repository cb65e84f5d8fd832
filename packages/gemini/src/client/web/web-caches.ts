import type { CachedContent, CreateCachedContentParameters, DeleteCachedContentParameters } from '@google/genai';
import { draftRequest } from './draft-request.ts';
import type { KeyedApi } from './keyed-api.ts';

/** The part of `Caches` of `@google/genai` that is used. A cache holds the beginning of a request. */
export class WebCaches {
  readonly #api: KeyedApi;

  constructor(api: KeyedApi) {
    this.#api = api;
  }

  /** Creates a cache. @throws ApiError for a status other than 2xx; what fetch throws */
  async create({ model, config = {} }: CreateCachedContentParameters): Promise<CachedContent> {
    const { contents = [], systemInstruction, tools, toolConfig, httpOptions, abortSignal, ...rest } = config;
    const draft = await draftRequest(this.#api, {
      model,
      contents,
      config: {
        ...(systemInstruction !== undefined && { systemInstruction }),
        // A copy, because the client rewrites the declarations in place.
        ...(tools && { tools: structuredClone(tools) }),
        ...(toolConfig && { toolConfig }),
      },
    });
    const { generationConfig: _, ...begin } = draft.body;
    const created = await this.#api.request({
      path: 'cachedContents',
      body: JSON.stringify({ model: this.#whole(draft.model), ...begin, ...rest }),
      httpMethod: 'POST',
      httpOptions,
      abortSignal,
    });
    return (await created.json()) as CachedContent;
  }

  /** Deletes a cache. @throws ApiError for a status other than 2xx; what fetch throws */
  async delete({ name, config: { httpOptions } = {} }: DeleteCachedContentParameters): Promise<void> {
    const path = this.#whole(name);
    await this.#api.request({ path, body: '{}', httpMethod: 'DELETE', httpOptions });
  }

  /** Returns the full name of a resource: on Vertex AI with its project. */
  #whole(name: string): string {
    const api = this.#api;
    if (!api.isVertexAI() || name.startsWith('projects/')) return name;
    const place = name.replace(/^models\//, 'publishers/google/models/');
    return `projects/${api.getProject()}/locations/${api.getLocation()}/${place}`;
  }
}
