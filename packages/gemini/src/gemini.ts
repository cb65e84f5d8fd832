import {
  BaseLlm,
  type BaseLlmConnection,
  ConfigurationError,
  EventloomError,
  type LlmRequest,
  type LlmResponse,
  type ModelCapabilities,
  ModelError,
  type Platform,
  type RetryOptions,
  RunAbortedError,
  systemPlatform,
} from '@eventloom/core';
import {
  type OptionRules,
  checkOptions,
  lostCallsMessage,
  type Retry,
  secretRedactor,
  toRetry,
  withRetries,
} from '@eventloom/core/internal';
import type { GenerateContentParameters } from '@google/genai';
import type { CachedRequest } from './cache/cached-request.ts';
import { ContextCaches } from './cache/context-caches.ts';
import { checkClientOptions, CLIENT_OPTIONS, type GeminiClientOptions } from './client/client-options.ts';
import type { GenAiClient } from './client/genai-client.ts';
import { HttpExchange } from './client/http-exchange.ts';
import { lazyClient } from './client/lazy-client.ts';
import { toTypedError } from './errors/to-typed-error.ts';
import { connectLive } from './live/connect-live.ts';
import { toParameters } from './request/to-parameters.ts';
import { StreamedReply } from './response/streamed-reply.ts';
import { createLlmResponse } from './response/create-llm-response.ts';

/** Options of a Gemini model: the connection and retries. No environment variable is read. */
export interface GeminiOptions extends GeminiClientOptions {
  /** The model's name, e.g. `gemini-flash-latest`. */
  readonly model: string;
  /** Retries of failed calls. Default: four attempts with growing delays, see `RetryOptions`. */
  readonly retry?: RetryOptions | undefined;
  /**
   * Maximum time in which the service must set up a live connection, in milliseconds. Default 20,000.
   */
  readonly liveSetupTimeoutMs?: number | undefined;
  /** Clock and timers. Default: the system clock. */
  readonly platform?: Platform | undefined;
}

const OPTIONS: OptionRules<GeminiOptions> = {
  ...CLIENT_OPTIONS,
  model: { is: 'text', write: "'gemini-flash-latest'" },
  retry: 'object',
  liveSetupTimeoutMs: 'number',
  platform: 'object',
};
const OF_AGENT = 'write it in the generateContentConfig of the agent';
const HINTS = { temperature: OF_AGENT, topP: OF_AGENT, maxOutputTokens: OF_AGENT, safetySettings: OF_AGENT };

/**
 * Checks the option names of a Gemini model.
 * @param example code for a caller that gives no options
 * @throws ConfigurationError for an option name that this version does not know
 */
export function checkGeminiOptions(owner: string, options: object, example: string): void {
  checkOptions(owner, OPTIONS, options, HINTS, example);
}

/** Returns code that creates a model. It repeats a given string only if that is the name of a Gemini model, because it may be a key. */
function exampleFor(options: unknown): string {
  const model = typeof options === 'string' && /^gemini-[\w.-]+$/.test(options) ? options : 'gemini-flash-latest';
  return `new Gemini({ model: '${model}', apiKey: process.env.GEMINI_API_KEY })`;
}

/**
 * A Gemini model, called through the Gemini API or Vertex AI with the client of `@google/genai`. It reads nothing from
 * the environment: the `Gemini` of `@eventloom/adk`, for programs that were written for `@google/adk`, does that.
 *
 * The client is loaded and created at the first call. A failed call is retried (see `RetryOptions`) as long as no part
 * of a reply was passed on. Then the call throws a ModelError with the service's message and code, after which a
 * `FallbackModel` calls another model. An abort closes the socket, and ends the wait between two attempts.
 *
 * @example
 * const model = new Gemini({ model: 'gemini-flash-latest', apiKey, retry: { attempts: 2 } });
 */
export class Gemini extends BaseLlm {
  readonly #options: GeminiOptions;
  readonly #client: () => Promise<GenAiClient>;
  readonly #retry: Retry;
  readonly #platform: Platform;
  readonly #caches: ContextCaches;
  readonly #redact: (text: string) => string;

  /**
   * @throws ConfigurationError without a model, without a key or a project, for invalid retry options, and for an
   * option name that this version does not know
   */
  constructor(options: GeminiOptions) {
    checkGeminiOptions('Gemini', options, exampleFor(options));
    if (!options.model)
      throw new ConfigurationError(
        `Gemini: model is ${options.model === '' ? 'an empty string' : 'missing'}; write new Gemini({ model: 'gemini-flash-latest', apiKey })`,
      );
    super(options);
    checkClientOptions(options, options.model);
    this.#options = options;
    this.#client = lazyClient(options);
    this.#retry = toRetry('Gemini', options.retry);
    this.#platform = options.platform ?? systemPlatform;
    this.#caches = new ContextCaches(this.#platform, options.apiVersion ?? options.httpOptions?.apiVersion);
    this.#redact = secretRedactor(options.apiKey, options.headers, options.httpOptions?.headers);
  }

  /** Name of the service, as OpenTelemetry calls it: `gcp.gemini` or `gcp.vertex_ai`. */
  get provider(): string {
    return this.#vertexai ? 'gcp.vertex_ai' : 'gcp.gemini';
  }

  /**
   * Returns the features of a Gemini model. Tools with an output schema: Gemini 3 and later on Vertex AI, for which
   * Google documents the combination; elsewhere the service refuses it, or the model calls its tools endlessly
   * (adk-python issues 3413 and 5057, adk-go 1026). Media in function responses: Gemini 3 and later, inline, and on
   * Vertex AI also by URI; older models refuse it. Thinking: Gemini 2.5 and later.
   */
  override capabilities(model: string = this.model): ModelCapabilities {
    const version = geminiVersion(model);
    const isLatest = version >= 3;
    return {
      tools: true,
      outputSchemaWithTools: this.#vertexai && isLatest,
      media: ['*'],
      responseMedia: {
        inlineData: isLatest ? RESPONSE_MEDIA : [],
        fileData: isLatest && this.#vertexai ? RESPONSE_MEDIA : [],
      },
      thinking: version === 0 || version >= 2.5,
      builtInTools: true,
      live: true,
    };
  }

  /**
   * Calls the model. With `stream` it yields chunks and then the whole reply, otherwise only the whole reply.
   * @throws ModelError if the service fails; if a stream fails midway, after the chunks received so far
   * @throws RunAbortedError when the signal is aborted
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const cached = this.#caches.begin(request);
    const open = () =>
      withRetries(() => this.#open(request, stream, abortSignal, cached), this.#retry, this.#platform, abortSignal);
    const call = await open().catch((error: unknown) => {
      if (cached?.dropCache(error)) return open();
      throw error;
    });
    try {
      for (let chunk = call.first; chunk; chunk = await call.next()) yield chunk;
      const whole = call.finish();
      yield cached?.metadata ? { ...whole, cacheMetadata: cached.metadata } : whole;
    } finally {
      call.close();
    }
  }

  /**
   * Opens a live connection, and waits until the service has set it up. Failed connections are not retried here,
   * because only the caller knows what to resume. An abort closes the socket.
   * @throws LiveConnectionError if the service refuses the setup, does not answer in time, or cannot be reached
   * @throws RunAbortedError when the signal is aborted, during the setup or later
   */
  override async connect(request: LlmRequest, abortSignal?: AbortSignal): Promise<BaseLlmConnection> {
    return connectLive(request, {
      model: request.model ?? this.model,
      client: await this.#client(),
      platform: this.#platform,
      redact: this.#redact,
      setupTimeoutMs: this.#options.liveSetupTimeoutMs ?? LIVE_SETUP_TIMEOUT_MS,
      abortSignal,
    });
  }

  /** Makes one attempt of a call, and waits for the first chunk or the whole reply. */
  async #open(
    request: LlmRequest,
    stream: boolean,
    abortSignal: AbortSignal | undefined,
    cached: CachedRequest | undefined,
  ): Promise<OpenCall> {
    const model = request.model ?? this.model;
    const { abortSignal: ownSignal } = request.config;
    const exchange = new HttpExchange(abortSignal, ownSignal instanceof AbortSignal ? ownSignal : undefined);
    const failed = (error: unknown): EventloomError => {
      const nowMs = this.#platform.now();
      const typed = toTypedError(error, {
        model,
        exchange,
        nowMs,
        redact: this.#redact,
        apiKeyName: this.#options.apiKeyName,
      });
      exchange.close();
      return typed;
    };
    try {
      if (exchange.callerAbort) throw new RunAbortedError(`model "${model}": the call was aborted`);
      const client = await this.#client();
      const whole = toParameters(request, { model, client, exchange });
      const target = { client, parameters: whole, abortSignal: exchange.signal };
      const parameters = cached ? await cached.apply(target) : whole;
      if (exchange.callerAbort) throw new RunAbortedError(`model "${model}": the call was aborted`);
      return stream
        ? await this.#openStream(client, parameters, exchange, failed)
        : await askWhole(client, parameters, exchange);
    } catch (error) {
      throw failed(error);
    }
  }

  async #openStream(
    client: GenAiClient,
    parameters: GenerateContentParameters,
    exchange: HttpExchange,
    failed: (error: unknown) => EventloomError,
  ): Promise<OpenCall> {
    const reply = new StreamedReply(await client.models.generateContentStream(parameters), this.#platform);
    const next = async (): Promise<LlmResponse | undefined> => {
      try {
        // Frames that arrived together are read from memory, so the socket does not report an abort.
        if (exchange.callerAbort) throw exchange.callerAbort.reason;
        const chunk = await reply.next();
        if (!chunk) exchange.complete();
        return chunk;
      } catch (error) {
        const failure = failed(error);
        const names = reply.incompleteCalls;
        if (names.length > 0 && ModelError.isInstance(failure)) failure.message += `; ${lostCallsMessage(names)}`;
        throw failure;
      }
    };
    const first = await next();
    return {
      first,
      next,
      finish: () => reply.finish(),
      close: () => exchange.close(),
    };
  }

  get #vertexai(): boolean {
    const { client, vertexai = false } = this.#options;
    return client && typeof client !== 'function' ? client.vertexai : vertexai;
  }
}

/** The media types that Gemini documents for function responses. */
const RESPONSE_MEDIA: readonly string[] = ['image/png', 'image/jpeg', 'image/webp', 'application/pdf', 'text/plain'];

/** Returns the version in the name of a Gemini model; 0 for a name without a version. */
function geminiVersion(model: string): number {
  return Number(/(?:^|\/)gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? 0);
}

const LIVE_SETUP_TIMEOUT_MS = 20_000;

/** A call to which the service responds: first the chunks, then the whole reply. */
interface OpenCall {
  readonly first: LlmResponse | undefined;
  next(): Promise<LlmResponse | undefined>;
  finish(): LlmResponse;
  close(): void;
}

async function askWhole(
  client: GenAiClient,
  parameters: GenerateContentParameters,
  exchange: HttpExchange,
): Promise<OpenCall> {
  const response = await client.models.generateContent(parameters);
  exchange.complete();
  const whole = createLlmResponse(response);
  return {
    first: undefined,
    next: () => Promise.resolve(undefined),
    finish: () => whole,
    close: () => exchange.close(),
  };
}
