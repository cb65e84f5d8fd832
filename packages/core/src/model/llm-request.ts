import { describeKind, isRecord } from '../content/json.ts';
import type { Content, FunctionDeclaration, VendorValue } from '../content/content.ts';
import type { CacheMetadata, ContextCacheConfig } from './context-cache.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseTool } from '../tool/base-tool.ts';

/**
 * Options for the generation of a reply, with the structure of `@google/genai`'s type of the same name (checked by a type test of
 * `gemini`). Fields that Eventloom does not read are typed loosely and passed to the model.
 */
export interface GenerateContentConfig {
  /** The system instruction. An agent sets it from its instructions. */
  systemInstruction?: unknown;
  /** Randomness of the answers: 0 for the most likely one. Default: that of the model. */
  temperature?: number;
  /** Chooses among the most likely tokens whose probabilities add up to this, from 0 to 1. Default: that of the model. */
  topP?: number;
  /** Chooses among this many most likely tokens. Default: that of the model. */
  topK?: number;
  /** Number of answers that the service generates. Only the first one is read. Gemini only. */
  candidateCount?: number;
  /** Maximum length of a reply in tokens, thoughts included for most models. A longer reply ends there. Default: that of the model. */
  maxOutputTokens?: number;
  /** Texts at which the model stops. Default: none. */
  stopSequences?: string[];
  /** Makes tokens less likely that the reply has already: positive for fewer repetitions. Default: that of the model. */
  presencePenalty?: number;
  /** Makes tokens less likely the more often the reply has them. Default: that of the model. */
  frequencyPenalty?: number;
  /** Start value of the random choices, for answers that are repeatable as far as the service allows it. Default: a random one. */
  seed?: number;
  /** Format of the answer, such as `application/json`. An agent with an `outputSchema` sets it. Default: text. */
  responseMimeType?: string;
  /** Schema of the answer in the vendor's dialect. */
  responseSchema?: unknown;
  /** Schema of the answer as JSON Schema. */
  responseJsonSchema?: unknown;
  /** Declarations of functions, and tools of the model's service, in the form of `@google/genai`. */
  tools?: VendorValue[];
  /** Allows, requires or forbids tool calls: `{ functionCallingConfig: { mode: 'NONE' } }`. Default: the model may call tools. */
  toolConfig?: object;
  /** Thresholds of the service for harmful content: `{ category, threshold }`. Gemini only. Default: those of the service. */
  safetySettings?: object[];
  /** Labels of the request in the bills of Vertex AI. Default: none. */
  labels?: Record<string, string>;
  /** Name of a cache of the service with the beginning of the request. The runner's `contextCacheConfig` sets it. */
  cachedContent?: string;
  /** Modalities of the answer, such as `['TEXT', 'IMAGE']`. Gemini only. Default: that of the model. */
  responseModalities?: string[];
  /**
   * Amount of thinking, and true to have the thoughts in the reply: `{ thinkingBudget: 1024, includeThoughts: true }`. Default: that of
   * the model.
   */
  thinkingConfig?: object;
  /** Further options of the model's service. */
  [option: string]: unknown;
}

/**
 * One request to a model: the conversation, the system instruction, the options and the tools. `beforeModelCallback`
 * may change it in place, by replacing fields; the contents themselves belong to the session's events and must not be
 * changed. A model only reads it.
 */
export interface LlmRequest {
  /** Name of the model to call. Default: the name of the model object. */
  model?: string;
  /** The conversation, oldest first. */
  contents: Content[];
  /** The system instruction (`config.systemInstruction`), the declarations of the tools, and options such as `temperature`. */
  config: GenerateContentConfig;
  /** Tools by name, to run the model's calls. May be shared with other requests: replace it, do not modify it. */
  toolsDict: Readonly<Record<string, BaseTool>>;
  /** Options of the context cache, for models that support it. Absent: no cache. */
  cacheConfig?: ContextCacheConfig;
  /** Cache metadata of the agent's last reply. */
  cacheMetadata?: CacheMetadata;
  /** Number of tokens of the agent's last request. Absent if the model did not report it. */
  cacheableContentsTokenCount?: number;
}

/** Creates an empty request. Its `toolsDict` is not shared, because tools of the ADK assign to it. */
export function createLlmRequest(): LlmRequest {
  return { contents: [], config: {}, toolsDict: Object.create(null) as LlmRequest['toolsDict'] };
}

/**
 * Appends instructions to the system instruction, separated by blank lines.
 * @throws ConfigurationError for arguments of another kind, and if the system instruction is not a string
 */
export function appendInstructions(request: LlmRequest, instructions: readonly string[]): void {
  if (!isRecord(request) || !Array.isArray(instructions))
    throw new ConfigurationError(
      `appendInstructions: expected a request and a list of instructions, got ${describeKind(instructions)}; write appendInstructions(llmRequest, ['Be brief.'])`,
    );
  let text = '';
  for (const instruction of instructions) {
    if (instruction !== '') text = text === '' ? instruction : `${text}\n\n${instruction}`;
  }
  if (text === '') return;
  const existing = request.config.systemInstruction;
  if (existing !== undefined && typeof existing !== 'string') {
    throw new ConfigurationError(
      `generateContentConfig.systemInstruction: expected a string, because the agent has instructions too, got ${describeKind(existing)}; write it as the agent's instruction`,
    );
  }
  request.config.systemInstruction = existing === undefined || existing === '' ? text : `${existing}\n\n${text}`;
}

/** Adds tools and their declarations. @throws ConfigurationError if two tools have the same name */
export function appendTools(request: LlmRequest, tools: readonly BaseTool[]): void {
  const toolsDict = Object.assign(Object.create(null) as Record<string, BaseTool>, request.toolsDict);
  for (const tool of tools) {
    if (toolsDict[tool.name])
      throw new ConfigurationError(`two tools have the name "${tool.name}"; give one of them another name`);
    toolsDict[tool.name] = tool;
    const declaration = tool._getDeclaration();
    if (declaration) declarationsOf(request).push(declaration);
  }
  request.toolsDict = toolsDict;
}

/** Returns the request's list of declarations; adds an empty one if there is none. */
function declarationsOf(request: LlmRequest): FunctionDeclaration[] {
  const tools = (request.config.tools ??= []);
  for (const tool of tools) {
    if (typeof tool === 'object' && tool !== null && 'functionDeclarations' in tool)
      return tool.functionDeclarations as FunctionDeclaration[];
  }
  const functionDeclarations: FunctionDeclaration[] = [];
  tools.push({ functionDeclarations });
  return functionDeclarations;
}

/** The user turn for a request without one at its end: services refuse a request that ends with the model, or is empty. */
export const CONTINUE = 'Go on as you were instructed.';
