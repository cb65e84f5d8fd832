import type {
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import {
  BaseLlm,
  type BaseLlmConnection,
  ConfigurationError,
  EventloomError,
  type LlmRequest,
  type LlmResponse,
  type ModelCapabilities,
  type Platform,
  type RetryOptions,
  RunAbortedError,
  systemPlatform,
} from '@eventloom/core';
import {
  checkCapabilities,
  checkOptions,
  describeKind,
  isRecord,
  type OptionRules,
  type Retry,
  toRetry,
  withCapabilities,
  withRetries,
} from '@eventloom/core/internal';
import type { ReplySchemas } from './reply-format.ts';
import { breakpointOf } from './cache-breakpoints.ts';
import { type CallTarget, toCallOptions, vendorOf } from './call-options.ts';
import { emptyReplyError, toModelError } from './model-error.ts';
import { Reply } from './reply.ts';
import { asV4 } from './v3-model.ts';

/** Options of an `AiSdkLlm`. The connection, the key and the address are options of the AI SDK's provider. */
export interface AiSdkLlmOptions {
  /**
   * Options for the vendor by its name, e.g. `{ openai: { reasoningEffort: 'high' } }`, sent with every call. An agent's
   * `generateContentConfig.providerOptions` is merged over them. Default: none.
   */
  readonly providerOptions?: SharedV4ProviderOptions | undefined;
  /** HTTP headers, sent with every call. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Retries of failed calls. Default: four attempts with growing delays, see `RetryOptions`. */
  readonly retry?: RetryOptions | undefined;
  /**
   * Features of the model that differ from those assumed of its provider, e.g. `{ tools: false }` for a small local
   * model. Default: none.
   */
  readonly capabilities?: Partial<ModelCapabilities> | undefined;
  /**
   * Provider options that mark the end of a prompt prefix that the vendor should cache. They are set if the runner has
   * a `contextCacheConfig`. Default: those of Anthropic and of Bedrock for their models; none for others, most of which
   * cache by themselves.
   */
  readonly cacheBreakpoint?: SharedV4ProviderOptions | undefined;
  /** Clock, timers and ids. Default: the system's. */
  readonly platform?: Platform | undefined;
}

/** The names of the options of an `AiSdkLlm`. */
export const LLM_OPTIONS: OptionRules<AiSdkLlmOptions> = {
  providerOptions: { is: 'object', write: "{ openai: { reasoningEffort: 'high' } }" },
  headers: 'object',
  retry: 'object',
  capabilities: 'object',
  cacheBreakpoint: 'object',
  platform: 'object',
};
const OF_PROVIDER = 'give it to the provider: createOpenAI({ apiKey })';
const OF_AGENT = 'write it in the generateContentConfig of the agent';
/** Advice for options that belong to another place. */
export const HINTS = { apiKey: OF_PROVIDER, baseURL: OF_PROVIDER, temperature: OF_AGENT, maxOutputTokens: OF_AGENT };

/**
 * A language model of the AI SDK: of OpenAI, Anthropic, an OpenAI-compatible server such as Ollama, or any other provider.
 *
 * A failed call is retried (see `RetryOptions`) as long as no part of a reply was passed on. Then the call throws a
 * ModelError with the service's message. An abort closes the socket, and ends the wait between two attempts. Reasoning
 * and its signatures, and other data that only a vendor reads, are kept in `partMetadata` of the events' parts and go
 * back only to the provider that made them; so a session can change its vendor.
 *
 * @example
 * import { openai } from '@ai-sdk/openai';
 *
 * const agent = new LlmAgent({ name: 'helper', model: new AiSdkLlm(openai('gpt-5')) });
 */
export class AiSdkLlm extends BaseLlm {
  /** Name of the AI SDK's provider, e.g. `openai.responses`. */
  readonly provider: string;
  readonly #model: LanguageModelV4;
  readonly #target: CallTarget;
  readonly #capabilities: ModelCapabilities;
  readonly #retry: Retry;
  readonly #platform: Platform;

  /**
   * @throws ConfigurationError for a value that is not a language model of AI SDK 6 or 7, and for an unknown name or kind of an option or a
   * capability
   */
  constructor(model: LanguageModelV4 | LanguageModelV3, options: AiSdkLlmOptions = {}) {
    checkModel(model);
    super({ model: model.modelId });
    checkOptions('AiSdkLlm', LLM_OPTIONS, options, HINTS);
    checkCapabilities('AiSdkLlm', options.capabilities);
    const {
      providerOptions = {},
      headers = {},
      retry,
      capabilities,
      cacheBreakpoint,
      platform = systemPlatform,
    } = options;
    this.provider = model.provider;
    this.#model = model.specificationVersion === 'v3' ? asV4(model) : model;
    this.#capabilities = withCapabilities(capabilitiesOf(model.provider), capabilities);
    this.#retry = toRetry('AiSdkLlm', retry);
    this.#platform = platform;
    this.#target = {
      provider: model.provider,
      modelId: model.modelId,
      hasReasoningOption: model.specificationVersion !== 'v3',
      media: this.#capabilities.media,
      replySchemas: replySchemasOf(model),
      providerOptions,
      headers,
      cacheBreakpoint: cacheBreakpoint ? () => cacheBreakpoint : breakpointOf(model.provider),
    };
  }

  /** Returns the features of the provider's models, as far as they are known, overridden by the option `capabilities`. */
  override capabilities(): ModelCapabilities {
    return this.#capabilities;
  }

  /**
   * Calls the model. With `stream` it yields chunks and then the whole reply, otherwise only the whole reply. Warnings
   * and metadata of the provider are in `customMetadata.aiSdk` of the whole reply.
   * @throws ModelError if the service fails; if a stream fails midway, after the chunks received so far
   * @throws ConfigurationError for a request to another model, and for a tool that another vendor's service runs
   * @throws RunAbortedError when the signal is aborted
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    if (request.model !== undefined && request.model !== this.model)
      throw new ConfigurationError(
        `model "${this.model}": got a request to "${request.model}"; an AiSdkLlm calls only its own model, so give the agent another one`,
      );
    const { options, warnings } = toCallOptions(request, this.#target);
    const open = (): Promise<OpenReply> => {
      const start = { provider: this.provider, responseId: this.#platform.newUuid(), warnings };
      const { abortSignal: ofConfig } = request.config;
      const call = new AiSdkCall(
        this.#model,
        options,
        this.#platform,
        abortSignal,
        ofConfig instanceof AbortSignal ? ofConfig : undefined,
      );
      return stream ? call.stream(new Reply(start)) : call.generate(new Reply(start));
    };
    const opened = await withRetries(open, this.#retry, this.#platform, abortSignal);
    try {
      for (let chunk = opened.first; chunk; chunk = await opened.next()) yield chunk;
      yield opened.reply.finish();
    } finally {
      opened.close();
    }
  }

  /** Rejects: only Gemini has live models here. */
  override connect(): Promise<BaseLlmConnection> {
    return Promise.reject(
      new ConfigurationError(
        `model "${this.model}" of ${this.provider}: live models are Gemini's; give the agent model: new Gemini({ model: 'gemini-3.1-flash-live-preview', apiKey }), or run it with runAsync`,
      ),
    );
  }
}

/** Checks the model. @throws ConfigurationError for a value that is not a language model of a known version of the specification */
function checkModel(model: unknown): void {
  const example = "write new AiSdkLlm(openai('gpt-5'))";
  if (typeof model === 'string')
    throw new ConfigurationError(`AiSdkLlm: expected a language model of the AI SDK, got a string; ${example}`);
  // Some providers are functions with fields like those of a model; a model is an object.
  if (!isRecord(model) || typeof model['doStream'] !== 'function' || typeof model['modelId'] !== 'string') {
    const kind = typeof model === 'function' ? 'a function' : describeKind(model);
    throw new ConfigurationError(`AiSdkLlm: expected a language model of the AI SDK, got ${kind}; ${example}`);
  }
  const version = model['specificationVersion'];
  if (version !== 'v4' && version !== 'v3')
    throw new ConfigurationError(
      `AiSdkLlm: the model "${model['modelId']}" has version ${String(version)} of the AI SDK's specification; install a version of its provider for AI SDK 6 or 7`,
    );
}

/** Models of OpenAI-compatible servers say whether they take schemas, which is an option of their provider. */
function replySchemasOf(model: LanguageModelV4 | LanguageModelV3): ReplySchemas {
  const said: unknown = 'supportsStructuredOutputs' in model ? model.supportsStructuredOutputs : undefined;
  if (typeof said === 'boolean') return said ? 'openai' : 'none';
  return ['openai', 'azure'].includes(vendorOf(model.provider)) ? 'openai' : 'any';
}

/** A call to which the service responds: first the chunks, then the whole reply. */
interface OpenReply {
  readonly reply: Reply;
  readonly first: LlmResponse | undefined;
  next(): Promise<LlmResponse | undefined>;
  close(): void;
}

/** One attempt of a call. It ends when one of the caller's signals fires, also for a provider that ignores its signal. */
class AiSdkCall {
  readonly #model: LanguageModelV4;
  readonly #options: LanguageModelV4CallOptions;
  readonly #platform: Platform;
  readonly #callers: readonly AbortSignal[];
  readonly #controller = new AbortController();
  readonly #started = Promise.withResolvers<never>();
  #reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  /** Headers of the answer to a streamed call, until its first chunk. */
  #unreadStream: Readonly<Record<string, string>> | undefined;
  #isReleased = false;
  readonly #onAbort = (): void => {
    this.#started.reject(this.#aborted());
    this.#stop();
  };

  constructor(
    model: LanguageModelV4,
    options: LanguageModelV4CallOptions,
    platform: Platform,
    ...callers: readonly (AbortSignal | undefined)[]
  ) {
    this.#model = model;
    this.#options = options;
    this.#platform = platform;
    this.#callers = callers.filter((signal) => signal !== undefined);
    // Once the service responds, nothing awaits this promise.
    this.#started.promise.catch(() => undefined);
    for (const signal of this.#callers) {
      if (signal.aborted) this.#onAbort();
      signal.addEventListener('abort', this.#onAbort);
    }
  }

  async generate(reply: Reply): Promise<OpenReply> {
    try {
      this.#check();
      const abortSignal = this.#controller.signal;
      const result = await Promise.race([
        this.#model.doGenerate({ ...this.#options, abortSignal }),
        this.#started.promise,
      ]);
      this.#check();
      for (const content of result.content) reply.addContent(content);
      reply.setResponse(result.response ?? {});
      reply.finishWith(result);
      this.#release();
    } catch (error) {
      throw this.#failed(error);
    }
    return { reply, first: undefined, next: () => Promise.resolve(undefined), close: () => undefined };
  }

  /** Waits for the first chunk, so that a call that fails before it can be made again. */
  async stream(reply: Reply): Promise<OpenReply> {
    try {
      this.#check();
      const abortSignal = this.#controller.signal;
      const { stream, response } = await Promise.race([
        this.#model.doStream({ ...this.#options, abortSignal }),
        this.#started.promise,
      ]);
      this.#unreadStream = response?.headers ?? {};
      const reader = stream.getReader();
      this.#reader = reader;
      const next = async (): Promise<LlmResponse | undefined> => {
        try {
          return await this.#nextChunk(reader, reply);
        } catch (error) {
          throw this.#failed(error);
        }
      };
      const first = await next();
      if (!first && reply.isMissing) throw emptyReplyError(this.#model.modelId, this.#unreadStream);
      this.#unreadStream = undefined;
      return { reply, first, next, close: () => this.#close() };
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async #nextChunk(
    reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
    reply: Reply,
  ): Promise<LlmResponse | undefined> {
    for (;;) {
      // Parts that arrived together are read from memory, so the socket does not report an abort.
      this.#check();
      const { done, value } = await reader.read();
      this.#check();
      if (done) {
        this.#release();
        return undefined;
      }
      const chunk = reply.add(value);
      if (chunk) return chunk;
    }
  }

  #check(): void {
    if (this.#callers.some(({ aborted }) => aborted)) throw this.#aborted();
  }

  #aborted(): RunAbortedError {
    const cause: unknown = this.#callers.find(({ aborted }) => aborted)?.reason;
    return new RunAbortedError(`model "${this.#model.modelId}": the call was aborted`, { cause });
  }

  #failed(error: unknown): EventloomError {
    const isAborted = this.#callers.some(({ aborted }) => aborted);
    this.#close();
    if (isAborted) return this.#aborted();
    return toModelError(error, {
      model: this.#model.modelId,
      nowMs: this.#platform.now(),
      headers: this.#options.headers ?? {},
      unreadStream: this.#unreadStream,
    });
  }

  /** Removes the listeners of the callers' signals. From then on `#close` does nothing: the call has ended by itself. */
  #release(): void {
    for (const signal of this.#callers) signal.removeEventListener('abort', this.#onAbort);
    this.#isReleased = true;
  }

  /** Ends the call and closes all of its resources, including the socket. */
  #close(): void {
    if (this.#isReleased) return;
    this.#release();
    this.#stop();
  }

  #stop(): void {
    this.#controller.abort();
    // Stops also for a provider that ignores its signal. Its error about the abort is not needed.
    this.#reader?.cancel().catch(() => undefined);
  }
}

const NO_MEDIA: readonly string[] = [];
const DOCUMENTS: readonly string[] = ['image/*', 'application/pdf'];

/** The features assumed of a provider's models: everything that fails with a clear message if a model lacks it. */
const ASSUMED: ModelCapabilities = {
  tools: true,
  outputSchemaWithTools: false,
  media: ['image/*', 'audio/wav', 'audio/mp3', 'audio/mpeg', 'application/pdf'],
  responseMedia: { inlineData: NO_MEDIA, fileData: NO_MEDIA },
  thinking: true,
  builtInTools: false,
  live: false,
};

/** Providers that differ, by a part of their name. */
const BY_PROVIDER: readonly (readonly [string, Partial<ModelCapabilities>])[] = [
  ['anthropic', { media: [...DOCUMENTS, 'text/plain'], responseMedia: { inlineData: DOCUMENTS, fileData: DOCUMENTS } }],
  [
    'openai.responses',
    { outputSchemaWithTools: true, media: DOCUMENTS, responseMedia: { inlineData: DOCUMENTS, fileData: DOCUMENTS } },
  ],
  [
    'azure.responses',
    { outputSchemaWithTools: true, media: DOCUMENTS, responseMedia: { inlineData: DOCUMENTS, fileData: DOCUMENTS } },
  ],
  ['openai.chat', { outputSchemaWithTools: true }],
  ['azure.chat', { outputSchemaWithTools: true }],
  ['google', { media: ['*'] }],
];

/** Returns the features of the models of a provider. */
function capabilitiesOf(provider: string): ModelCapabilities {
  const found = BY_PROVIDER.find(([name]) => provider.includes(name));
  return found ? { ...ASSUMED, ...found[1] } : ASSUMED;
}
