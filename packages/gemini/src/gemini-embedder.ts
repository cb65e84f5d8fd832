import { ConfigurationError, ModelError, type Platform, type RetryOptions, systemPlatform } from '@eventloom/core';
import {
  checkOptions,
  type OptionRules,
  type Retry,
  secretRedactor,
  toRetry,
  withRetries,
} from '@eventloom/core/internal';
import { checkClientOptions, CLIENT_OPTIONS, type GeminiClientOptions } from './client/client-options.ts';
import type { GenAiClient } from './client/genai-client.ts';
import { HttpExchange } from './client/http-exchange.ts';
import { lazyClient } from './client/lazy-client.ts';
import { toTypedError } from './errors/to-typed-error.ts';

/** Options of a `GeminiEmbedder`: the connection and retries. No environment variable is read. */
export interface GeminiEmbedderOptions extends GeminiClientOptions {
  /** The name of the embedding model. Default `gemini-embedding-001`. */
  readonly model?: string | undefined;
  /** Retries of failed calls. Default: four attempts with growing delays, see `RetryOptions`. */
  readonly retry?: RetryOptions | undefined;
  /** Clock and timers. Default: the system clock. */
  readonly platform?: Platform | undefined;
}

/** The use of an embedding: a text to be found, or a question that finds texts. */
export type EmbeddingPurpose = 'document' | 'query';

const OPTIONS: OptionRules<GeminiEmbedderOptions> = {
  ...CLIENT_OPTIONS,
  model: { is: 'text', write: "'gemini-embedding-001'" },
  retry: 'object',
  platform: 'object',
};
const TASK_TYPES = { document: 'RETRIEVAL_DOCUMENT', query: 'RETRIEVAL_QUERY' };
/** Maximum number of texts in one request to the Gemini API. */
const BATCH_SIZE = 100;

/**
 * Converts texts to vectors with an embedding model of Gemini: the nearer two texts are in meaning, the nearer are their vectors.
 *
 * @example
 * const [vector] = await new GeminiEmbedder({ apiKey }).embed(['How long is the warranty?'], 'query');
 */
export class GeminiEmbedder {
  readonly model: string;
  readonly #options: GeminiEmbedderOptions;
  readonly #client: () => Promise<GenAiClient>;
  readonly #retry: Retry;
  readonly #platform: Platform;
  readonly #redact: (text: string) => string;

  /** @throws ConfigurationError without a key or a project, and for an option name that this version does not know */
  constructor(options: GeminiEmbedderOptions) {
    checkOptions('GeminiEmbedder', OPTIONS, options);
    if (options.model === '')
      throw new ConfigurationError(
        "GeminiEmbedder: model is an empty string; leave it out, or write model: 'gemini-embedding-001'",
      );
    this.model = options.model ?? 'gemini-embedding-001';
    checkClientOptions(options, this.model);
    this.#options = options;
    this.#client = lazyClient(options);
    this.#retry = toRetry('GeminiEmbedder', options.retry);
    this.#platform = options.platform ?? systemPlatform;
    this.#redact = secretRedactor(options.apiKey, options.headers, options.httpOptions?.headers);
  }

  /**
   * Returns a vector for each text, in the same order. Sends up to 100 texts in one request, one request after another.
   * @throws ModelError if the service fails
   * @throws RunAbortedError when the signal is aborted
   */
  async embed(texts: readonly string[], purpose: EmbeddingPurpose, abortSignal?: AbortSignal): Promise<number[][]> {
    const vectors: number[][] = [];
    for (let start = 0; start < texts.length; start += BATCH_SIZE) {
      const batch = texts.slice(start, start + BATCH_SIZE);
      const ask = () => this.#embed(batch, purpose, abortSignal);
      vectors.push(...(await withRetries(ask, this.#retry, this.#platform, abortSignal)));
    }
    return vectors;
  }

  async #embed(contents: string[], purpose: EmbeddingPurpose, abortSignal?: AbortSignal): Promise<number[][]> {
    const { model } = this;
    const exchange = new HttpExchange(abortSignal, undefined);
    try {
      const { models } = await this.#client();
      if (!models.embedContent)
        throw new ConfigurationError(
          'GeminiEmbedder: client: expected a GoogleGenAI with models.embedContent; write client: new GoogleGenAI({ apiKey })',
        );
      const config = { taskType: TASK_TYPES[purpose], abortSignal: exchange.signal };
      const { embeddings = [] } = await models.embedContent({ model, contents, config });
      exchange.complete();
      const vectors = embeddings.flatMap(({ values }) => (values ? [values] : []));
      if (vectors.length === contents.length) return vectors;
      throw new ModelError(
        `model "${model}": the service sent ${vectors.length} vectors for ${contents.length} texts`,
        { errorCode: 'DATA_LOSS' },
      );
    } catch (error) {
      throw toTypedError(error, {
        model,
        exchange,
        nowMs: this.#platform.now(),
        redact: this.#redact,
        apiKeyName: this.#options.apiKeyName,
      });
    } finally {
      exchange.close();
    }
  }
}
