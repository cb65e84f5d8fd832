import type { AlternativeResponse, LlmResponse, UsageMetadata } from '@eventloom/core';
import type { Candidate } from '@google/genai';
import type { GeminiResponse } from './create-llm-response.ts';

/** Converts a response of the service, or one chunk of it. Parts are passed on unchanged. */
export function toLlmResponse(response: GeminiResponse): LlmResponse {
  const { candidates = [], usageMetadata, modelVersion, responseId } = response;
  const converted: LlmResponse = {};
  for (const [position, candidate] of candidates.entries()) {
    const index = candidate.index ?? position;
    if (index === 0) addCandidate(converted, candidate);
    else (converted.alternatives ??= []).push(toAlternative(candidate, index));
  }
  // Copied, because the client adds a hidden getter, and events are plain data.
  if (usageMetadata) converted.usageMetadata = Object.assign<UsageMetadata, object>({}, usageMetadata);
  if (modelVersion !== undefined) converted.modelVersion = modelVersion;
  if (responseId !== undefined) converted.responseId = responseId;
  return converted;
}

function addCandidate(converted: LlmResponse, candidate: Candidate): void {
  const { content, finishReason, groundingMetadata, citationMetadata, avgLogprobs, logprobsResult } = candidate;
  if (content?.parts?.length) converted.content = content;
  if (finishReason !== undefined) converted.finishReason = finishReason;
  if (groundingMetadata) converted.groundingMetadata = groundingMetadata;
  if (candidate.urlContextMetadata) converted.urlContextMetadata = candidate.urlContextMetadata;
  if (citationMetadata) converted.citationMetadata = citationMetadata;
  if (avgLogprobs !== undefined) converted.avgLogprobs = avgLogprobs;
  if (logprobsResult) converted.logprobsResult = logprobsResult;
}

function toAlternative({ content, finishReason }: Candidate, index: number): AlternativeResponse {
  return { index, ...(content?.parts?.length && { content }), ...(finishReason !== undefined && { finishReason }) };
}
