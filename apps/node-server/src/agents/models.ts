import { ConfigurationError, type ModelResolver } from '@eventloom/core';
import { geminiModels } from '@eventloom/gemini';
import type { GeminiSettings } from '../settings.ts';

/** Finds Gemini models by name; without a key it says what is missing when one is asked for. */
export function modelsOf(gemini: GeminiSettings | undefined): ModelResolver {
  if (gemini) return geminiModels(gemini);
  return (model) => {
    throw new ConfigurationError(
      `model ${JSON.stringify(model)}: no key is set; set GEMINI_API_KEY (or GOOGLE_API_KEY) and start again, or give the agent a model object`,
    );
  };
}
