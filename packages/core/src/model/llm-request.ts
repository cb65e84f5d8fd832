import type { Content, FunctionDeclaration } from '../content/content.ts';
import type { CacheMetadata, ContextCacheConfig } from './context-cache.ts';
import { ConfigurationError } from '../errors.ts';
import type { BaseTool } from '../tool/base-tool.ts';

/**
 * Options of a model's generation: the structural twin of @google/genai's type of the same name (pinned by `gemini`'s
 * type test). Fields that this project does not read are typed loosely and passed through.
 */
export interface GenerateContentConfig {
  systemInstruction?: unknown;
  temperature?: number;
  topP?: number;
  topK?: number;
  candidateCount?: number;
  maxOutputTokens?: number;
  stopSequences?: string[];
  presencePenalty?: number;
  frequencyPenalty?: number;
  seed?: number;
  responseMimeType?: string;
  /** The vendor's own schema dialect. */
  responseSchema?: unknown;
  /** JSON Schema. */
  responseJsonSchema?: unknown;
  tools?: unknown[];
  toolConfig?: object;
  safetySettings?: object[];
  labels?: Record<string, string>;
  cachedContent?: string;
  responseModalities?: string[];
  thinkingConfig?: object;
  /** Whatever else the model's service takes. */
  [option: string]: unknown;
}

/**
 * One request to a model. Processors and callbacks may change it. A model reads it and changes nothing: contents are shared with
 * the session's events, and what is long with the next request.
 */
export interface LlmRequest {
  /** The model's name, when another than the model object's own is meant. */
  model?: string;
  contents: Content[];
  config: GenerateContentConfig;
  /** The tools by name, to run what the model calls. May be shared with other requests: replaced, not modified. */
  toolsDict: Readonly<Record<string, BaseTool>>;
  /** Present when the service is to cache what requests begin with; for models that can. */
  cacheConfig?: ContextCacheConfig;
  /** Cache metadata of the agent's last reply. */
  cacheMetadata?: CacheMetadata;
  /** Tokens of the agent's last request, when its model told. */
  cacheableContentsTokenCount?: number;
}

/** A request with nothing in it yet. */
export function createLlmRequest(): LlmRequest {
  return { contents: [], config: {}, toolsDict: NO_TOOLS };
}

const NO_TOOLS: Readonly<Record<string, BaseTool>> = Object.freeze(Object.create(null) as Record<string, BaseTool>);

/** Adds to the system instruction, parts joined by a blank line. @throws ConfigurationError when it holds more than text */
export function appendInstructions(request: LlmRequest, instructions: readonly string[]): void {
  let text = '';
  for (const instruction of instructions) {
    if (instruction !== '') text = text === '' ? instruction : `${text}\n\n${instruction}`;
  }
  if (text === '') return;
  const existing = request.config.systemInstruction;
  if (existing !== undefined && typeof existing !== 'string') {
    throw new ConfigurationError(
      'generateContentConfig.systemInstruction: must be a string when the agent has instructions of its own',
    );
  }
  request.config.systemInstruction = existing === undefined || existing === '' ? text : `${existing}\n\n${text}`;
}

/** Adds tools with their declarations. @throws ConfigurationError when two tools have one name */
export function appendTools(request: LlmRequest, tools: readonly BaseTool[]): void {
  const toolsDict = Object.assign(Object.create(null) as Record<string, BaseTool>, request.toolsDict);
  for (const tool of tools) {
    if (toolsDict[tool.name]) throw new ConfigurationError(`two tools have the name "${tool.name}"`);
    toolsDict[tool.name] = tool;
    const declaration = tool._getDeclaration();
    if (declaration) declarationsOf(request).push(declaration);
  }
  request.toolsDict = toolsDict;
}

/** The list of declarations in the request, made when there is none. */
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
