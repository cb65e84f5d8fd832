import type { ModelResolver } from '@eventloom/core';
import { checkClientOptions } from './client/client-options.ts';
import { lazyClient } from './client/lazy-client.ts';
import { checkGeminiOptions, Gemini, type GeminiOptions } from './gemini.ts';

const NAMES = /^(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers\/google\/)?(?:models\/)?gemini-[\w.-]+$/;

/**
 * Finds Gemini models by name: `gemini-…`, `models/gemini-…`, `projects/…/models/gemini-…`. All of them share one client, made
 * at the first call. Options that lack a key are reported when the first name is resolved.
 *
 * @throws ConfigurationError for an option this version does not have
 *
 * @example
 * const runner = new InMemoryRunner({ agent, models: geminiModels({ apiKey }) });
 */
export function geminiModels(options: Omit<GeminiOptions, 'model'>): ModelResolver {
  checkGeminiOptions('geminiModels', options);
  const client = options.client ?? lazyClient(options);
  return (model) => {
    if (!NAMES.test(model)) return undefined;
    checkClientOptions(options);
    return new Gemini({ ...options, client, model });
  };
}
