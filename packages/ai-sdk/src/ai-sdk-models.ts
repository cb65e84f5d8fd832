import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { ConfigurationError, type ModelResolver } from '@eventloom/core';
import {
  checkCapabilities,
  checkOptions,
  describeKind,
  getOwn,
  isRecord,
  type OptionRules,
} from '@eventloom/core/internal';
import { AiSdkLlm, type AiSdkLlmOptions, HINTS, LLM_OPTIONS } from './ai-sdk-llm.ts';

/** A provider of the AI SDK, such as `openai`, the result of `createOpenAICompatible`, or of `createProviderRegistry`. */
export interface AiSdkProvider {
  languageModel(modelId: string): LanguageModelV4 | LanguageModelV3;
}

/** Options of `aiSdkModels`: those of each model, and the separator. */
export interface AiSdkModelsOptions extends AiSdkLlmOptions {
  /** Text between the name of the provider and that of the model. Default `:`, as in the AI SDK's `createProviderRegistry`. */
  readonly separator?: string | undefined;
}

const WRITE = "write aiSdkModels({ openai }) with import { openai } from '@ai-sdk/openai'";
const OPTIONS: OptionRules<AiSdkModelsOptions> = { ...LLM_OPTIONS, separator: 'text' };

/**
 * Creates a resolver of names such as `openai:gpt-5`, for the `models` of a runner: before the first separator the name
 * under which the provider is given, after it the name of the model, without blanks around it. The resolver returns
 * undefined for the names of other providers, so it can be joined with others, and throws a ConfigurationError for a
 * provider without the name of a model.
 *
 * @throws ConfigurationError for something that is not a provider, and for an option name that this version does not know
 *
 * @example
 * import { anthropic } from '@ai-sdk/anthropic';
 * import { openai } from '@ai-sdk/openai';
 *
 * const others = aiSdkModels({ openai, anthropic });
 * const gemini = geminiModels({ apiKey });
 * const runner = new InMemoryRunner({ agent, models: (name) => gemini(name) ?? others(name) });
 */
export function aiSdkModels(
  providers: Readonly<Record<string, AiSdkProvider>>,
  options: AiSdkModelsOptions = {},
): ModelResolver {
  checkOptions('aiSdkModels', OPTIONS, options, HINTS);
  checkCapabilities('aiSdkModels', options.capabilities);
  const { separator = ':', ...ofModels } = options;
  if (typeof separator !== 'string' || separator === '')
    throw new ConfigurationError(
      `aiSdkModels: separator: expected a text that is not empty, got ${separator === '' ? 'an empty one' : describeKind(separator)}; write separator: ':'`,
    );
  if (!isRecord(providers))
    throw new ConfigurationError(
      `aiSdkModels: expected an object of providers, got ${describeKind(providers)}; ${WRITE}`,
    );
  for (const [name, provider] of Object.entries(providers)) {
    if (typeof provider?.languageModel !== 'function')
      throw new ConfigurationError(
        `aiSdkModels: ${name}: expected a provider of the AI SDK, got ${describeKind(provider)}; ${WRITE}`,
      );
  }
  return (model) => {
    const at = model.indexOf(separator);
    const provider = at > 0 ? getOwn(providers, model.slice(0, at)) : undefined;
    const modelId = model.slice(at + separator.length).trim();
    if (provider && modelId === '')
      throw new ConfigurationError(
        `aiSdkModels: "${model}" has no name of a model; write one after it, as in openai${separator}gpt-5`,
      );
    return provider && new AiSdkLlm(provider.languageModel(modelId), ofModels);
  };
}
