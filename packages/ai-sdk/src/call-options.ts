import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { ConfigurationError, type FunctionDeclaration, type LlmRequest } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { type ReplySchemas, toReplyFormat } from './reply-format.ts';
import { withBreakpoints } from './cache-breakpoints.ts';
import { type PromptReader, toPrompt } from './prompt.ts';
import { toJsonSchema } from './json-schema.ts';

type CallTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool;

/** The model that a request is for, and the options of its `AiSdkLlm`. */
export interface CallTarget extends PromptReader {
  readonly modelId: string;
  /** True if calls have the option `reasoning`, which version 3 of the specification lacks. */
  readonly hasReasoningOption: boolean;
  readonly providerOptions: SharedV4ProviderOptions;
  readonly headers: Readonly<Record<string, string>>;
  readonly replySchemas: ReplySchemas;
  /** The mark of the end of a cached prompt prefix; undefined for vendors without one. */
  readonly cacheBreakpoint: ((ttlSeconds: number | undefined) => SharedV4ProviderOptions) | undefined;
}

/** The options of a call, and the parts of the request that they cannot express. */
interface ConvertedRequest {
  readonly options: LanguageModelV4CallOptions;
  readonly warnings: readonly SharedV4Warning[];
}

/**
 * Converts a request to the options of the AI SDK's `doGenerate` and `doStream`. The request is not modified.
 * @throws ConfigurationError for a tool that another vendor's service runs
 */
export function toCallOptions(request: LlmRequest, target: CallTarget): ConvertedRequest {
  const { config } = request;
  const { responseFormat, instruction, isStrict } = toReplyFormat(config, target.replySchemas);
  const instructions = instruction === undefined ? config.systemInstruction : [config.systemInstruction, instruction];
  const { prompt, warnings: ofPrompt } = toPrompt(instructions, request.contents, target);
  const warnings = [...ofPrompt];
  for (const name of UNSUPPORTED) if (config[name] !== undefined) warnings.push({ type: 'unsupported', feature: name });
  const allTools = (config.tools ?? []).flatMap((tool) => toTools(tool, target));
  const { toolChoice, names } = toToolChoice(config.toolConfig);
  const tools = names ? allTools.filter(({ name }) => names.includes(name)) : allTools;
  const { reasoning, includesThoughts } = toReasoning(config['thinkingConfig']);
  if (reasoning !== undefined && !target.hasReasoningOption)
    warnings.push({ type: 'unsupported', feature: 'thinkingConfig', details: 'Write the effort in providerOptions.' });
  const givenOptions = mergeOptions(target.providerOptions, config['providerOptions']);
  const vendor = vendorOf(target.provider);
  const providerOptions = mergeOptions(
    includesThoughts ? (SUMMARIES[vendor] ?? {}) : {},
    isStrict ? {} : { [strictKeyOf(vendor, givenOptions)]: { strictJsonSchema: false } },
    givenOptions,
  );
  const headers = { ...target.headers, ...headersOf(config['httpOptions']) };
  const options: LanguageModelV4CallOptions = {
    prompt: withBreakpoints(prompt, request, target.cacheBreakpoint),
    ...(config.maxOutputTokens !== undefined && { maxOutputTokens: config.maxOutputTokens }),
    ...(config.temperature !== undefined && { temperature: config.temperature }),
    ...(config.topP !== undefined && { topP: config.topP }),
    ...(config.topK !== undefined && { topK: config.topK }),
    ...(config.stopSequences && { stopSequences: config.stopSequences }),
    ...(config.presencePenalty !== undefined && { presencePenalty: config.presencePenalty }),
    ...(config.frequencyPenalty !== undefined && { frequencyPenalty: config.frequencyPenalty }),
    ...(config.seed !== undefined && { seed: config.seed }),
    ...(responseFormat && { responseFormat }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice && { toolChoice }),
    ...(reasoning !== undefined && target.hasReasoningOption && { reasoning }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(Object.keys(providerOptions).length > 0 && { providerOptions }),
  };
  return { options, warnings };
}

/** Options of Gemini that have no counterpart in the AI SDK. */
const UNSUPPORTED = [
  'candidateCount',
  'safetySettings',
  'cachedContent',
  'responseModalities',
  'speechConfig',
  'responseLogprobs',
];

/** Provider options with which a vendor returns a summary of the model's thoughts. */
const SUMMARIES: Readonly<Record<string, SharedV4ProviderOptions>> = {
  openai: { openai: { reasoningSummary: 'auto' } },
};

/** Returns the first part of a provider's name: `openai` of `openai.responses`. */
export function vendorOf(provider: string): string {
  return provider.split('.', 1)[0] ?? provider;
}

function toTools(tool: unknown, target: CallTarget): CallTool[] {
  if (!isRecord(tool)) return [];
  const { functionDeclarations, type, id, args } = tool;
  if (Array.isArray(functionDeclarations)) return functionDeclarations.map(toFunctionTool);
  if (type === 'provider' && isProviderToolId(id)) {
    const name = typeof tool['name'] === 'string' ? tool['name'] : id.slice(id.indexOf('.') + 1);
    return [{ type, id, name, args: isRecord(args) ? args : {} }];
  }
  throw new ConfigurationError(
    `model "${target.modelId}": Google's service runs the tool ${Object.keys(tool).join(', ')}, and this model is of ${target.provider}; give the agent model: 'gemini-flash-latest', or remove the tool`,
  );
}

function isProviderToolId(id: unknown): id is `${string}.${string}` {
  return typeof id === 'string' && id.includes('.');
}

function toFunctionTool(declaration: FunctionDeclaration): LanguageModelV4FunctionTool {
  const { name = '', description, parametersJsonSchema, parameters } = declaration;
  const inputSchema = toJsonSchema(parametersJsonSchema ?? parameters ?? { type: 'object', properties: {} });
  return { type: 'function', name, ...(description !== undefined && { description }), inputSchema };
}

/** Returns the choice among the tools, and the names of the tools to offer if not all are allowed. */
function toToolChoice(toolConfig: unknown): {
  readonly toolChoice?: LanguageModelV4ToolChoice;
  readonly names?: readonly string[];
} {
  const calling = isRecord(toolConfig) ? toolConfig['functionCallingConfig'] : undefined;
  if (!isRecord(calling)) return {};
  const { mode, allowedFunctionNames } = calling;
  if (mode === 'NONE') return { toolChoice: { type: 'none' } };
  if (mode !== 'ANY' && mode !== 'VALIDATED') return { toolChoice: { type: 'auto' } };
  const names = Array.isArray(allowedFunctionNames)
    ? allowedFunctionNames.filter((name) => typeof name === 'string')
    : [];
  const [toolName] = names;
  if (mode === 'ANY' && names.length === 1 && toolName !== undefined) return { toolChoice: { type: 'tool', toolName } };
  const toolChoice: LanguageModelV4ToolChoice = { type: mode === 'ANY' ? 'required' : 'auto' };
  return names.length > 0 ? { toolChoice, names } : { toolChoice };
}

/** Returns the name under which a provider reads its option `strictJsonSchema`. */
function strictKeyOf(vendor: string, given: SharedV4ProviderOptions): string {
  // Providers of AI SDK 6 ignore the options of `openai` beside those of `azure`.
  if (vendor === 'azure') return given['azure'] ? 'azure' : 'openai';
  return vendor === 'openai' ? vendor : 'openaiCompatible';
}

/** Converts `thinkingConfig`. A budget becomes the nearest effort, because the vendors' models take efforts and no budgets. */
function toReasoning(thinkingConfig: unknown): {
  readonly reasoning?: NonNullable<LanguageModelV4CallOptions['reasoning']>;
  readonly includesThoughts: boolean;
} {
  if (!isRecord(thinkingConfig)) return { includesThoughts: false };
  const { thinkingLevel, thinkingBudget, includeThoughts } = thinkingConfig;
  const includesThoughts = includeThoughts === true;
  const level = typeof thinkingLevel === 'string' ? LEVELS[thinkingLevel] : undefined;
  if (level) return { reasoning: level, includesThoughts };
  if (typeof thinkingBudget !== 'number' || thinkingBudget < 0) return { includesThoughts };
  if (thinkingBudget === 0) return { reasoning: 'none', includesThoughts };
  const reasoning = thinkingBudget <= 2048 ? 'low' : thinkingBudget <= 12_288 ? 'medium' : 'high';
  return { reasoning, includesThoughts };
}

const LEVELS: Readonly<Record<string, 'minimal' | 'low' | 'medium' | 'high'>> = {
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
};

function headersOf(httpOptions: unknown): Record<string, string> {
  const headers = isRecord(httpOptions) ? httpOptions['headers'] : undefined;
  if (!isRecord(headers)) return {};
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Merges provider options, vendor by vendor. The later ones win. */
function mergeOptions(...all: readonly unknown[]): SharedV4ProviderOptions {
  const merged: SharedV4ProviderOptions = {};
  for (const options of all) {
    if (!isRecord(options)) continue;
    for (const [vendor, values] of Object.entries(options))
      if (isRecord(values)) merged[vendor] = Object.assign({}, merged[vendor], values);
  }
  return merged;
}
