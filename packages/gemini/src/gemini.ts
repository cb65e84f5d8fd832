import {
  BaseLlm,
  type BaseLlmConnection,
  EventloomError,
  type FunctionResponsePart,
  type LlmRequest,
  type LlmResponse,
  ModelError,
  type Platform,
  RunAbortedError,
  systemPlatform,
} from '@eventloom/core';
import { moveResponseParts, type TakesResponsePart, type OptionNames, checkKnown } from '@eventloom/core/internal';
import type { GenerateContentParameters } from '@google/genai';
import type { CachedRequest } from './cache/cached-request.ts';
import { ContextCaches } from './cache/context-caches.ts';
import { checkClientOptions, CLIENT_OPTIONS, type GeminiClientOptions } from './client/client-options.ts';
import type { GenAiClient } from './client/genai-client.ts';
import { HttpExchange } from './client/http-exchange.ts';
import { lazyClient } from './client/lazy-client.ts';
import { secretRedactor } from './errors/secret-redactor.ts';
import { toTypedError } from './errors/to-typed-error.ts';
import { connectLive } from './live/connect-live.ts';
import { toParameters } from './request/to-parameters.ts';
import { withCutShort } from './response/cut-short.ts';
import { StreamedReply } from './response/streamed-reply.ts';
import { toLlmResponse } from './response/to-llm-response.ts';
import { type Retry, type RetryOptions, toRetry, withRetries } from './retry.ts';

/** Options of a Gemini model: the connection, retries and fallbacks. Nothing is read from the environment. */
export interface GeminiOptions extends GeminiClientOptions {
  /** The model's name, e.g. `gemini-flash-latest`. */
  readonly model: string;
  readonly retry?: RetryOptions | undefined;
  /**
   * Asked when this model keeps failing with 408, 429, 5xx or a lost connection, as long as nothing of a reply was passed on:
   * the name of a model at the same service, or a model of any kind.
   */
  readonly fallbackModel?: string | BaseLlm | undefined;
  /**
   * Time the service has to set up a live connection, from the first byte to the last, in milliseconds. Default 20,000.
   */
  readonly liveSetupTimeoutMs?: number | undefined;
  /** Clock and timers. Default: the system's. */
  readonly platform?: Platform | undefined;
}

const OPTIONS: OptionNames<GeminiOptions> = {
  ...CLIENT_OPTIONS,
  model: true,
  retry: true,
  fallbackModel: true,
  liveSetupTimeoutMs: true,
  platform: true,
};
const OF_AGENT = 'write it in the generateContentConfig of the agent';
const HINTS = { temperature: OF_AGENT, topP: OF_AGENT, maxOutputTokens: OF_AGENT, safetySettings: OF_AGENT };

/** @throws ConfigurationError for an option this version does not have */
export function checkGeminiOptions(owner: string, options: object): void {
  checkKnown(owner, OPTIONS, options, HINTS);
}

/**
 * A Gemini model, by the Gemini API or by Vertex AI, over the client of @google/genai.
 *
 * The client is made at the first call, and loaded then, where a program is not one file. A failed call is tried again (see
 * `RetryOptions`) until something of the reply was passed on, then by the fallback model, then it throws ModelError with the
 * service's own message and code. An abort reaches the socket, and ends the wait between two attempts.
 *
 * @example
 * const model = new Gemini({ model: 'gemini-flash-latest', apiKey, fallbackModel: 'gemini-flash-lite-latest' });
 */
export class Gemini extends BaseLlm {
  readonly #options: GeminiOptions;
  readonly #client: () => Promise<GenAiClient>;
  readonly #retry: Retry;
  readonly #platform: Platform;
  readonly #caches: ContextCaches;
  readonly #redact: (text: string) => string;
  readonly #fallback: BaseLlm | undefined;

  /** @throws ConfigurationError without a key or a project, for invalid retry options, and for an option this version does not have */
  constructor(options: GeminiOptions) {
    checkGeminiOptions('Gemini', options);
    super(options);
    checkClientOptions(options);
    this.#options = options;
    this.#client = lazyClient(options);
    this.#retry = toRetry(options.retry);
    this.#platform = options.platform ?? systemPlatform;
    this.#caches = new ContextCaches(this.#platform, options.apiVersion ?? options.httpOptions?.apiVersion);
    this.#redact = secretRedactor(options.apiKey, options.headers, options.httpOptions?.headers);
    const { fallbackModel } = options;
    this.#fallback =
      typeof fallbackModel === 'string'
        ? new Gemini({
            ...options,
            model: fallbackModel,
            fallbackModel: undefined,
            client: options.client ?? this.#client,
          })
        : fallbackModel;
  }

  /**
   * True on Vertex AI from Gemini 3 on. Google documents the combination for Gemini 3; elsewhere it is refused, or the model
   * calls its tools for ever (adk-python issues 3413 and 5057, adk-go 1026), and `set_model_response` works everywhere.
   */
  override supportsOutputSchemaWithTools(model: string): boolean {
    return this.#vertexai && majorVersion(model) >= 3;
  }

  /**
   * True from Gemini 3 on for PNG, JPEG, WebP, PDF and plain text: given inline, and on Vertex AI also by URI. Older models refuse media in
   * function responses.
   */
  override supportsFunctionResponsePart(model: string, { inlineData, fileData }: FunctionResponsePart): boolean {
    const mimeType = inlineData?.mimeType ?? (this.#vertexai ? fileData?.mimeType : undefined);
    return mimeType !== undefined && RESPONSE_MEDIA.has(mimeType) && majorVersion(model) >= 3;
  }

  /**
   * @throws ModelError when the service fails, and when a stream dies midway (after the chunks that came)
   * @throws RunAbortedError when the signal fires
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const cached = this.#caches.begin(request);
    const open = () =>
      withRetries(() => this.#open(request, stream, abortSignal, cached), this.#retry, this.#platform, abortSignal);
    let call: OpenCall;
    try {
      call = await open().catch((error: unknown) => {
        if (cached?.dropCache(error)) return open();
        throw error;
      });
    } catch (error) {
      const fallback = isFailure(error) ? this.#fallback : undefined;
      if (!fallback) throw error;
      // A cache is of one model.
      const { cacheConfig: _, cacheMetadata: _m, ...uncached } = request;
      const takes: TakesResponsePart = (part) => fallback.supportsFunctionResponsePart(fallback.model, part);
      const contents = request.contents.map((content) => moveResponseParts(content, takes));
      yield* fallback.generateContentAsync({ ...uncached, contents, model: fallback.model }, stream, abortSignal);
      return;
    }
    try {
      for (let chunk = call.first; chunk; chunk = await call.next()) yield chunk;
      const whole = call.finish();
      yield cached?.metadata ? { ...whole, cacheMetadata: cached.metadata } : whole;
    } finally {
      call.close();
    }
  }

  /**
   * Opens a live connection, and waits until the service has set it up. It is not tried again here: who keeps a call alive
   * knows what to resume. An abort closes the socket.
   * @throws LiveConnectionError when the service refuses the setup, does not answer in time, or cannot be reached
   * @throws RunAbortedError when the signal fires, then and later
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

  /** Asks once, and waits for the first that there is to pass on. */
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
      const typed = toTypedError(error, { model, exchange, nowMs, redact: this.#redact });
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
    const first = await reply.next();
    if (!first) exchange.complete();
    return {
      first,
      async next() {
        try {
          // Frames that came together are read without the socket, which would tell.
          if (exchange.callerAbort) throw exchange.callerAbort.reason;
          const chunk = await reply.next();
          if (!chunk) exchange.complete();
          return chunk;
        } catch (error) {
          throw failed(error);
        }
      },
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
const RESPONSE_MEDIA: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'application/pdf',
  'text/plain',
]);

/** The version of Gemini in the name of a model; 0 for a name without one. */
function majorVersion(model: string): number {
  return Number(/(?:^|\/)gemini-(\d+)/.exec(model)?.[1] ?? 0);
}

const LIVE_SETUP_TIMEOUT_MS = 20_000;

/** A call that the service answers: chunks, as long as there are any, and the whole. */
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
  const { candidates = [], promptFeedback } = response;
  const whole = withCutShort(toLlmResponse(response), {
    promptFeedback,
    finishMessage: candidates[0]?.finishMessage,
    answered: candidates.length > 0,
    stream: false,
  });
  return {
    first: undefined,
    next: () => Promise.resolve(undefined),
    finish: () => whole,
    close: () => exchange.close(),
  };
}

/**
 * True for failures that a fallback model can help with: the service is unavailable or overloaded, and the request is
 * valid.
 */
function isFailure(error: unknown): boolean {
  return ModelError.isInstance(error) && (error.retryable || error.status === 429);
}
