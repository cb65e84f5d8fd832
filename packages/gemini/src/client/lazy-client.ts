import { ConfigurationError } from '@eventloom/core';
import { loadDeferred } from '#load-deferred';
import type { GeminiClientOptions } from './client-options.ts';
import type { GenAiClient } from './genai-client.ts';

/**
 * A function that gives the client of these options, made at its first call: an agent that names a model pays for
 * @google/genai when it asks it; a Worker, which is one file, has it from its start. A client that could not be made is tried again at the next call.
 */
export function lazyClient(options: GeminiClientOptions): () => Promise<GenAiClient> {
  const { client } = options;
  if (client && typeof client !== 'function') return () => Promise.resolve(client);
  let made: Promise<GenAiClient> | undefined;
  return () =>
    (made ??= (client ?? make)().catch((cause: unknown) => {
      made = undefined;
      throw new ConfigurationError(
        `gemini: the client cannot be made: ${cause instanceof Error ? cause.message : 'unknown'}`,
        {
          cause,
        },
      );
    }));

  async function make(): Promise<GenAiClient> {
    const { createGenAiClient } = await loadDeferred();
    return createGenAiClient(options);
  }
}
