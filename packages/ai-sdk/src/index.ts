// Models of the AI SDK's providers as models of the runtime. Runs on Node and on Workers.

export type { AiSdkLlmOptions } from './ai-sdk-llm.ts';
export { AiSdkLlm } from './ai-sdk-llm.ts';
export type { AiSdkModelsOptions, AiSdkProvider } from './ai-sdk-models.ts';
export { aiSdkModels } from './ai-sdk-models.ts';
