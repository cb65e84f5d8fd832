import type {
  AuthConfig,
  AuthCredential,
  Content,
  GenerateContentConfig,
  LlmRequest,
  OAuth2Auth,
} from '@eventloom/core';
import type { VertexAISearchDataStoreSpec, VertexAiSearchToolParams } from '@eventloom/tools/built-in';
import type { RouteValue } from './workflow/node-context.ts';

// Types of @google/adk that other packages of Eventloom have no name for.

/** The options that have a name. A type of another library has these, and no index signature. */
export type KnownOptions<T> = { readonly [K in keyof T as string extends K ? never : K]: T[K] };

/** The type with fields that can be assigned, at all depths. */
type Writable<T> = { -readonly [K in keyof T]: T[K] extends object | undefined ? Writable<T[K]> : T[K] };

/** An `AuthConfig` that a program written for `@google/adk` fills before it sends it back. */
export type AdkAuthConfig = Writable<AuthConfig>;
/** An `AuthCredential` that a program written for `@google/adk` fills before it sends it back. */
export type AdkAuthCredential = Writable<AuthCredential>;
/** An `OAuth2Auth` that a program written for `@google/adk` fills before it sends it back. */
export type AdkOAuth2Auth = Writable<OAuth2Auth>;

/** The routes that a node selects: one, or several at once. */
export type Route = RouteValue | readonly RouteValue[];

/** The values that instructions of agents in a workflow can name. */
export interface WorkflowInstructionScope {
  readonly input?: unknown;
  readonly outputsByNode?: Readonly<Record<string, unknown>> | undefined;
}

/** Options of `VertexAiSearchTool` for a data store. */
export interface DataStoreParams extends VertexAiSearchToolParams {
  readonly dataStoreId: string;
  readonly searchEngineId?: undefined;
  readonly dataStoreSpecs?: undefined;
}

/** Options of `VertexAiSearchTool` for a search engine. */
export interface SearchEngineParams extends VertexAiSearchToolParams {
  readonly searchEngineId: string;
  readonly dataStoreId?: undefined;
  readonly dataStoreSpecs?: readonly VertexAISearchDataStoreSpec[] | undefined;
}

/** A request to a model, as programs that were written for `@google/adk` create it. */
export interface AdkModelRequest extends LlmRequest {
  /** The system instruction, the tools and the options. May be replaced, also by a `GenerateContentConfig` of `@google/genai`. */
  get config(): GenerateContentConfig;
  set config(config: GenerateContentConfig | KnownOptions<GenerateContentConfig>);
  /** Settings of a live connection. Not read: a live run has its own. */
  readonly liveConnectConfig?: object | undefined;
}

/** Audio or a message that a program keeps to be transcribed later. */
export interface TranscriptionEntry {
  readonly role?: string | undefined;
  readonly data: Content | { readonly data?: string | undefined; readonly mimeType?: string | undefined };
}
