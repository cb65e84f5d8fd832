import type * as core from '@eventloom/core';
import type * as genai from '@google/genai';

// Core's content types are twins of the client's: what a Gemini program passes around is accepted as it is, and no field of a
// part is unknown. These types are checked by `tsc`; there is nothing to run.

/** Fails to compile unless `From` can be handed in where `To` is asked for. */
type Accepts<To, From extends To> = [To, From];
type SameKeys<A, B> = [Exclude<keyof A, keyof B>, Exclude<keyof B, keyof A>] extends [never, never] ? true : false;
type MustBe<Expected, Actual extends Expected> = Actual;

export type ContentIsAccepted = [
  Accepts<core.Content, genai.Content>,
  Accepts<core.Part, genai.Part>,
  Accepts<core.FunctionCall, genai.FunctionCall>,
  Accepts<core.FunctionResponse, genai.FunctionResponse>,
  Accepts<core.Blob, genai.Blob>,
  Accepts<core.FileData, genai.FileData>,
  Accepts<core.ExecutableCode, genai.ExecutableCode>,
  Accepts<core.CodeExecutionResult, genai.CodeExecutionResult>,
  Accepts<core.PartialArg, genai.PartialArg>,
];

export type RequestsAreAccepted = [
  Accepts<core.FunctionDeclaration, genai.FunctionDeclaration>,
  Accepts<core.GenerateContentConfig, Pick<genai.GenerateContentConfig, keyof genai.GenerateContentConfig>>,
];

export type ResponsesAreAccepted = [
  Accepts<
    core.UsageMetadata,
    Pick<genai.GenerateContentResponseUsageMetadata, keyof genai.GenerateContentResponseUsageMetadata>
  >,
  Accepts<core.Transcription, genai.Transcription>,
  Accepts<NonNullable<core.LlmResponse['groundingMetadata']>, genai.GroundingMetadata>,
  Accepts<NonNullable<core.LlmResponse['citationMetadata']>, genai.CitationMetadata>,
  Accepts<NonNullable<core.LlmResponse['logprobsResult']>, genai.LogprobsResult>,
];

export type NoFieldIsUnknown = [
  MustBe<true, SameKeys<core.Part, genai.Part>>,
  MustBe<true, SameKeys<core.Content, genai.Content>>,
  MustBe<true, SameKeys<core.FunctionCall, genai.FunctionCall>>,
  MustBe<true, SameKeys<core.FunctionResponse, genai.FunctionResponse>>,
  MustBe<true, SameKeys<core.Blob, genai.Blob>>,
  MustBe<true, SameKeys<core.FileData, genai.FileData>>,
  MustBe<true, SameKeys<core.ExecutableCode, genai.ExecutableCode>>,
  MustBe<true, SameKeys<core.CodeExecutionResult, genai.CodeExecutionResult>>,
  MustBe<true, SameKeys<core.PartialArg, genai.PartialArg>>,
  MustBe<true, SameKeys<core.FunctionDeclaration, genai.FunctionDeclaration>>,
];
