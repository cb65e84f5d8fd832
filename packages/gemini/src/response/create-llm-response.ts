import type { LlmResponse } from '@eventloom/core';
import type { GenerateContentResponse } from '@google/genai';
import { withFinishError } from './finish-error.ts';
import { toLlmResponse } from './to-llm-response.ts';

/** A whole answer of the Gemini service: a `GenerateContentResponse` of `@google/genai`, or its JSON. */
export type GeminiAnswer = Pick<
  GenerateContentResponse,
  'candidates' | 'modelVersion' | 'promptFeedback' | 'responseId' | 'usageMetadata'
>;

/** Converts a whole answer of Gemini, for models that call the service themselves. An answer that is blocked, empty or truncated has an `errorCode`. */
export function createLlmResponse(response: GeminiAnswer): LlmResponse {
  const { candidates = [], promptFeedback } = response;
  return withFinishError(toLlmResponse(response), {
    promptFeedback,
    finishMessage: candidates[0]?.finishMessage,
    answered: candidates.length > 0,
    stream: false,
  });
}
