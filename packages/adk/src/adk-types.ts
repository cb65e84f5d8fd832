import type {
  AuthConfig,
  AuthCredential,
  BaseTool,
  CallbackContext,
  Content,
  EventParams,
  FunctionDeclaration,
  GenerateContentConfig,
  LlmRequest,
  LlmResponse,
  MaybePromise,
  MemoryEntry,
  OAuth2Auth,
  ToolProcessLlmRequest,
  VendorValue,
} from '@eventloom/core';
import type { AgentToolConfig } from '@eventloom/multi-agent';
import type { ConfirmationPredicate, ToolInputParameters } from '@eventloom/tools';
import type { VertexAISearchDataStoreSpec, VertexAiSearchToolParams } from '@eventloom/tools/built-in';
import type { RouteValue } from './workflow/node-context.ts';

// Types of @google/adk that other packages of Eventloom have no name for.

/** The options that have a name. A type of another library has these, and no index signature. */
export type KnownOptions<T> = { readonly [K in keyof T as string extends K ? never : K]: T[K] };

/** The type with fields that can be assigned. */
export type Assignable<T> = { -readonly [K in keyof T]: T[K] };

/** The type with fields that can be assigned, at all depths. */
type Writable<T> = { -readonly [K in keyof T]: T[K] extends object | undefined ? Writable<T[K]> : T[K] };

/** An `AuthConfig` that a program written for `@google/adk` fills before it sends it back. */
export interface AdkAuthConfig extends Omit<Writable<AuthConfig>, OwnFields> {
  /** A security scheme of OpenAPI, with the fields of its `type`. */
  authScheme: { type: string; [field: string]: VendorValue };
  rawAuthCredential?: AdkAuthCredential | undefined;
  exchangedAuthCredential?: AdkAuthCredential | undefined;
}
/** The fields of an `AuthConfig` that have another type here. */
type OwnFields = 'authScheme' | 'rawAuthCredential' | 'exchangedAuthCredential';
/** An `AuthCredential` that a program written for `@google/adk` fills before it sends it back. */
export interface AdkAuthCredential extends Omit<Writable<AuthCredential>, 'http' | 'serviceAccount'> {
  /** A scheme of HTTP with its `HttpCredentials`. */
  http?: { scheme?: string; credentials?: VendorValue; additionalHeaders?: Record<string, string> };
  /** A `ServiceAccount`. */
  serviceAccount?: VendorValue;
}
/** An `OAuth2Auth` that a program written for `@google/adk` fills before it sends it back. */
export type AdkOAuth2Auth = Writable<OAuth2Auth>;

/** The parameters of `createEvent` that a program written for `@google/adk` fills step by step. */
export type AdkCreateEventParams = Assignable<EventParams>;
/** The options of an `AgentTool` that a program written for `@google/adk` fills step by step. */
export type AdkAgentToolConfig = Assignable<AgentToolConfig>;
/** A memory that a program written for `@google/adk` fills step by step. */
export type AdkMemoryEntry = Assignable<MemoryEntry>;

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

/**
 * Options of a request, as programs that were written for `@google/adk` read them: those without a type here have that
 * of `@google/genai`.
 */
interface AdkRequestConfig extends GenerateContentConfig {
  systemInstruction?: VendorValue;
  /** Declarations of functions, and tools of the model's service. */
  tools?: AdkRequestTool[];
  toolConfig?: VendorValue;
  safetySettings?: VendorValue[];
  thinkingConfig?: VendorValue;
  [option: string]: VendorValue;
}

/** An entry of the `tools` of a request, in the form of the `Tool` of `@google/genai`. */
interface AdkRequestTool {
  functionDeclarations?: (FunctionDeclaration & { parameters?: VendorValue })[];
  /** A tool of the model's service, such as `googleSearch`. */
  [tool: string]: VendorValue;
}

/** Parameters of `processLlmRequest` of a tool, as programs that were written for `@google/adk` read them. */
export interface AdkToolProcessLlmRequest extends ToolProcessLlmRequest {
  readonly llmRequest: AdkModelRequest;
}

/** A request to a model, as programs that were written for `@google/adk` create and change it. */
export interface AdkModelRequest extends LlmRequest {
  /** The system instruction, the tools and the options. May be replaced, also by a `GenerateContentConfig` of `@google/genai`. */
  get config(): AdkRequestConfig;
  set config(config: GenerateContentConfig | KnownOptions<GenerateContentConfig>);
  /**
   * Tools by name, to run the model's calls. The request of a callback has its own record; in `processLlmRequest` of a
   * tool replace the record.
   */
  toolsDict: Record<string, BaseTool>;
  /** Settings of a live connection: the options of the run, and what the program writes here. Read by live models. */
  liveConnectConfig?: VendorValue;
}

/**
 * A function for `beforeModelCallback` of programs that were written for `@google/adk`: that of `@eventloom/llm-agent`,
 * with the `LlmRequest` of the ADK.
 */
export type AdkSingleBeforeModelCallback = (params: {
  context: CallbackContext;
  request: AdkModelRequest;
}) => MaybePromise<LlmResponse | undefined | void>;

/**
 * Callbacks of programs that were written for `@google/adk`: one or several, which run before each model call, in
 * order, until one returns a value.
 */
export type AdkBeforeModelCallback = AdkSingleBeforeModelCallback | readonly AdkSingleBeforeModelCallback[];

/** Type of a tool's `requireConfirmation`, by the schema of its parameters. */
export type RequireConfirmation<P extends ToolInputParameters> = boolean | ConfirmationPredicate<P>;

/** Citations in a reply, with the structure of the `CitationMetadata` of `@google/genai`. */
export interface AdkCitationMetadata {
  citations?: {
    uri?: string;
    title?: string;
    license?: string;
    startIndex?: number;
    endIndex?: number;
    publicationDate?: VendorValue;
  }[];
}

/** Sources of a reply, with the structure of the `GroundingMetadata` of `@google/genai`. */
export interface AdkGroundingMetadata {
  groundingChunks?: AdkGroundingChunk[];
  groundingSupports?: AdkGroundingSupport[];
  webSearchQueries?: string[];
  imageSearchQueries?: string[];
  retrievalQueries?: string[];
  retrievalMetadata?: VendorValue;
  searchEntryPoint?: { renderedContent?: string; sdkBlob?: string };
  googleMapsWidgetContextToken?: string;
  sourceFlaggingUris?: VendorValue[];
}

/** One source of a reply: a web page, a document, or a place. */
interface AdkGroundingChunk {
  web?: { uri?: string; title?: string; domain?: string };
  retrievedContext?: VendorValue;
  maps?: VendorValue;
  image?: VendorValue;
}

/** The sources of one segment of a reply, as indices of `groundingChunks`. */
interface AdkGroundingSupport {
  segment?: { partIndex?: number; startIndex?: number; endIndex?: number; text?: string };
  groundingChunkIndices?: number[];
  confidenceScores?: number[];
  renderedParts?: number[];
}

/** Audio or a message that a program keeps to be transcribed later. */
export interface TranscriptionEntry {
  readonly role?: string | undefined;
  readonly data: Content | { readonly data?: string | undefined; readonly mimeType?: string | undefined };
}
