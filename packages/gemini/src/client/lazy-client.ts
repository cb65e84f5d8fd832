import { ConfigurationError } from '@eventloom/core';
import { requireAdvice } from '@eventloom/core/internal';
import { createGenAiClient } from '#genai-client';
import type { GeminiClientOptions } from './client-options.ts';
import type { GenAiClient } from './genai-client.ts';

const CANNOT_BE_MADE = 'gemini: the client cannot be made';

/**
 * Returns a function that creates the client of these options at its first call and returns the same one later. If the creation fails, the
 * next call tries again.
 */
export function lazyClient(options: GeminiClientOptions): () => Promise<GenAiClient> {
  const { client } = options;
  if (client && typeof client !== 'function') return () => Promise.resolve(client);
  const make = client ?? (async (): Promise<GenAiClient> => createGenAiClient(options));
  let made: Promise<GenAiClient> | undefined;
  return () =>
    (made ??= make().catch((cause: unknown) => {
      made = undefined;
      // The factory may be a lazy client itself, as in `geminiModels`: the message then already has the reason.
      if (ConfigurationError.isInstance(cause) && cause.message.startsWith(CANNOT_BE_MADE)) throw cause;
      const reason = cause instanceof Error ? cause.message : 'unknown';
      throw new ConfigurationError(`${CANNOT_BE_MADE}: ${reason}${requireAdvice(cause)}`, { cause });
    }));
}
