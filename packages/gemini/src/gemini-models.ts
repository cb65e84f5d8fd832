import type { ModelResolver } from '@eventloom/core';
import { checkClientOptions } from './client/client-options.ts';
import { lazyClient } from './client/lazy-client.ts';
import { checkGeminiOptions, Gemini, type GeminiOptions } from './gemini.ts';

const NAMES = /^(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers\/google\/)?(?:models\/)?gemini-[\w.-]+$/;

/**
 * Creates a resolver of Gemini model names, for the `models` of a runner: `gemini-…`, `models/gemini-…`,
 * `projects/…/models/gemini-…`. The resolver returns undefined for other names. All models share one client, which is
 * created at the first call.
 *
 * @throws ConfigurationError for an option name that this version does not know; a missing key is reported when the first name is resolved
 *
 * @example
 * const runner = new InMemoryRunner({ agent, models: geminiModels({ apiKey }) });
 */
export function geminiModels(options: Omit<GeminiOptions, 'model'>): ModelResolver {
  checkGeminiOptions('geminiModels', options, 'geminiModels({ apiKey: process.env.GEMINI_API_KEY })');
  const client = options.client ?? lazyClient(options);
  return (model) => {
    if (!NAMES.test(model)) return undefined;
    checkClientOptions(options, model);
    return new Gemini({ ...options, client, model });
  };
}
