import type { LlmRequest } from '@eventloom/core';
import type { GenerateContentParameters, HttpOptions } from '@google/genai';
import type { GenAiClient, OwnGenAiClient } from '../client/genai-client.ts';
import type { HttpExchange } from '../client/http-exchange.ts';
import { toWireContents } from './to-wire-contents.ts';
import { toWireSchema } from './to-wire-schema.ts';
import { toWireTools } from './to-wire-tools.ts';

/** The model that a request goes to, and the features of its service. */
interface RequestTarget {
  readonly model: string;
  readonly client: GenAiClient | OwnGenAiClient;
  readonly exchange: HttpExchange;
}

/** Converts a request to the client's parameters. The request is not modified, and the client modifies no object of it. */
export function toParameters(request: LlmRequest, target: RequestTarget): GenerateContentParameters {
  const { model, client, exchange } = target;
  const { vertexai } = client;
  const { tools, labels, httpOptions, responseMimeType, responseJsonSchema, ...config } = request.config;
  const structured = responseJsonSchema !== undefined || config.responseSchema !== undefined;
  const mimeType = responseMimeType ?? (structured ? 'application/json' : undefined);
  const { retryOptions: _, ...http } = (httpOptions ?? {}) as HttpOptions;
  const watched = 'own' in client ? exchange.watch(http.fetch ?? client.own.fetch) : http.fetch;
  // Core's types have the structure of the client's types, with plain strings for its enums; a type test checks this.
  return {
    model,
    contents: toWireContents(request.contents, vertexai, model),
    config: {
      ...config,
      ...(tools?.length && { tools: toWireTools(tools) }),
      // The Gemini API has no labels.
      ...(vertexai && labels && { labels }),
      ...(responseJsonSchema !== undefined && { responseJsonSchema: toWireSchema(responseJsonSchema) }),
      ...(mimeType !== undefined && { responseMimeType: mimeType }),
      automaticFunctionCalling: { disable: true },
      httpOptions: { ...http, ...(watched && { fetch: watched }) },
      abortSignal: exchange.signal,
    },
  } as GenerateContentParameters;
}
