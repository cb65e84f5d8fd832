import { ConfigurationError, type LlmResponse } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import type { GenerateContentResponse } from '@google/genai';
import { withFinishError } from './finish-error.ts';
import { toLlmResponse } from './to-llm-response.ts';

/** A whole response of the Gemini service: a `GenerateContentResponse` of `@google/genai`, or its JSON. */
export type GeminiResponse = Pick<
  GenerateContentResponse,
  'candidates' | 'modelVersion' | 'promptFeedback' | 'responseId' | 'usageMetadata'
>;

/**
 * Converts a whole response of Gemini, for models that call the service themselves. An answer that is blocked, empty or
 * truncated has an `errorCode`.
 * @throws ConfigurationError for a value that is not an object
 */
export function createLlmResponse(response: GeminiResponse): LlmResponse {
  if (!isRecord(response))
    throw new ConfigurationError(
      `createLlmResponse: expected an answer of Gemini, got ${describeKind(response)}; write createLlmResponse(await client.models.generateContent({ … }))`,
    );
  const { candidates = [], promptFeedback } = response;
  return withFinishError(toLlmResponse(response), {
    promptFeedback,
    finishMessage: candidates[0]?.finishMessage,
    answered: candidates.length > 0,
    stream: false,
  });
}
