import type * as core from '@eventloom/core';
import type * as genai from '@google/genai';

// Core's content types have the structure of the client's: values can be passed in both directions without a conversion, and no field of a
// part is unknown. These types are checked by `tsc`; there is nothing to run.

/** Fails to compile unless `From` can be passed where `To` is expected. */
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

export type ContentIsGiven = [
  Accepts<genai.Content, core.Content>,
  Accepts<genai.Part, core.Part>,
  Accepts<genai.FunctionCall, core.FunctionCall>,
  Accepts<genai.FunctionResponse, core.FunctionResponse>,
  Accepts<genai.Blob, core.Blob>,
  Accepts<genai.FileData, core.FileData>,
  Accepts<genai.ExecutableCode, core.ExecutableCode>,
  Accepts<genai.CodeExecutionResult, core.CodeExecutionResult>,
  Accepts<genai.PartialArg, core.PartialArg>,
  Accepts<genai.FunctionDeclaration, core.FunctionDeclaration>,
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

type FieldsOf<T, Value> = { [K in keyof T]-?: IsAny<T[K]> extends Value ? K : never }[keyof T];
type IsAny<T> = 0 extends 1 & T ? true : false;

/** Only fields that hold an enum of the client's are unchecked. */
export type OnlyEnumsAreUnchecked = [
  MustBe<'mediaResolution' | 'mediaProcessing', FieldsOf<core.Part, true>>,
  MustBe<never, FieldsOf<core.Content, true>>,
  MustBe<never, FieldsOf<core.FunctionCall, true>>,
  MustBe<'scheduling', FieldsOf<core.FunctionResponse, true>>,
  MustBe<never, FieldsOf<core.Blob, true>>,
  MustBe<never, FieldsOf<core.FileData, true>>,
  MustBe<'language', FieldsOf<core.ExecutableCode, true>>,
  MustBe<'outcome', FieldsOf<core.CodeExecutionResult, true>>,
  MustBe<'behavior', FieldsOf<core.FunctionDeclaration, true>>,
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
