import { ConfigurationError } from '@eventloom/core';
import { createGenAiClient } from '#genai-client';
import type { GeminiClientOptions } from './client-options.ts';
import type { GenAiClient } from './genai-client.ts';

const CANNOT_BE_MADE = 'gemini: the client cannot be made';

/**
 * Returns a function that makes the client of these options at its first call and returns the same one later. If making it fails, the next
 * call tries again.
 */
export function lazyClient(options: GeminiClientOptions): () => Promise<GenAiClient> {
  const { client } = options;
  if (client && typeof client !== 'function') return () => Promise.resolve(client);
  const make = client ?? (async (): Promise<GenAiClient> => createGenAiClient(options));
  let made: Promise<GenAiClient> | undefined;
  return () =>
    (made ??= make().catch((cause: unknown) => {
      made = undefined;
      // `make` may be a lazy client itself, as in `geminiModels`; the message then has the reason already.
      if (ConfigurationError.isInstance(cause) && cause.message.startsWith(CANNOT_BE_MADE)) throw cause;
      const reason = cause instanceof Error ? cause.message : 'unknown';
      throw new ConfigurationError(`${CANNOT_BE_MADE}: ${reason}`, { cause });
    }));
}
