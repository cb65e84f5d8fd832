// Gemini as a model of the runtime. Runs on Node and on Workers.

export type { GeminiOptions } from './gemini.ts';
export { Gemini } from './gemini.ts';
export type { EmbeddingPurpose, GeminiEmbedderOptions } from './gemini-embedder.ts';
export { GeminiEmbedder } from './gemini-embedder.ts';
export { geminiModels } from './gemini-models.ts';
export type { GeminiResponse } from './response/create-llm-response.ts';
export { createLlmResponse } from './response/create-llm-response.ts';
export type { GeminiClientOptions } from './client/client-options.ts';
export type { GenAiClient } from './client/genai-client.ts';
