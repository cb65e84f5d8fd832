import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { encodeBase64, type LlmResponse, type Part, type UsageMetadata } from '@eventloom/core';
import { callsToRun, isRecord, type MadeBy, tryParseJson, withoutCalls } from '@eventloom/core/internal';

/**
 * Minimum length of a response id that is taken over: shorter ids may repeat, because some local servers number their
 * responses from 0 to 999.
 */
const UNIQUE_ID_LENGTH = 20;

/** The facts known of a reply before its first part. */
interface ReplyStart {
  /** Name of the provider that makes the reply. */
  readonly provider: string;
  /** An id for a reply whose service gives it none. */
  readonly responseId: string;
  /** Settings and files of the request that the model does not get. */
  readonly warnings: readonly SharedV4Warning[];
}

/** Collects the parts of one reply: the parts of a stream, or the content of a result. */
export class Reply {
  readonly #provider: string;
  readonly #parts: Part[] = [];
  /** The texts and thoughts that are being streamed, by kind and id. */
  readonly #open = new Map<string, Part>();
  readonly #sources: LanguageModelV4Source[] = [];
  /** The addresses of the sources. */
  readonly #pages = new Set<string>();
  readonly #citations: object[] = [];
  readonly #warnings: SharedV4Warning[];
  /**
   * Calls that have not been yielded yet. Providers complete the calls of an interrupted stream with the pieces received so far, so a call
   * is yielded only when the stream continues after it.
   */
  #held: Part[] = [];
  /** Names of the functions in calls whose arguments are not a JSON object. */
  readonly #malformed: string[] = [];
  #responseId: string;
  /** True once a chunk was returned. The id then stays, because all chunks of a reply have the same one. */
  #isShown = false;
  #modelId: string | undefined;
  #usage: LanguageModelV4Usage | undefined;
  #finishReason: LanguageModelV4FinishReason | undefined;
  #providerMetadata: SharedV4ProviderMetadata | undefined;

  constructor({ provider, responseId, warnings }: ReplyStart) {
    this.#provider = provider;
    this.#responseId = responseId;
    this.#warnings = [...warnings];
  }

  /**
   * Adds a part of a stream. Returns the chunk to show, or undefined if the part adds nothing that can be shown.
   * @throws the error in a part of the type `error`
   */
  add(part: LanguageModelV4StreamPart): LlmResponse | undefined {
    switch (part.type) {
      case 'stream-start':
        this.#warnings.push(...part.warnings);
        return undefined;
      case 'response-metadata':
        this.setResponse(part);
        return undefined;
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.type === 'reasoning-start', part.id, part.providerMetadata);
        return undefined;
      case 'text-delta':
      case 'reasoning-delta':
        return this.#addDelta(part.type === 'reasoning-delta', part.id, part.delta, part.providerMetadata);
      case 'text-end':
      case 'reasoning-end':
        this.#end(part);
        return undefined;
      case 'finish':
        this.finishWith(part);
        return isWhole(part.finishReason) ? this.#release() : undefined;
      case 'error':
        throw part.error;
      case 'tool-call': {
        const call = this.addContent(part);
        if (call) this.#held.push(call);
        return undefined;
      }
      case 'tool-input-start':
      case 'tool-input-delta':
        return this.#release();
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        return undefined;
      default: {
        const added = this.addContent(part);
        return added ? this.#chunk(added) : this.#release();
      }
    }
  }

  /** Returns a chunk with the calls that have not been yielded yet; undefined if there are none. */
  #release(): LlmResponse | undefined {
    return this.#held.length > 0 ? this.#chunk() : undefined;
  }

  /** Adds a whole piece of content. Returns its part, if it has one. */
  addContent(content: LanguageModelV4Content): Part | undefined {
    const part = this.#toPart(content);
    if (part) this.#parts.push(part);
    return part;
  }

  setResponse({ id, modelId }: { readonly id?: string | undefined; readonly modelId?: string | undefined }): void {
    if (id !== undefined && id.length >= UNIQUE_ID_LENGTH && !this.#isShown) this.#responseId = id;
    this.#modelId = modelId ?? this.#modelId;
  }

  /** Notes how the reply ended. */
  finishWith(end: {
    readonly finishReason: LanguageModelV4FinishReason;
    readonly usage: LanguageModelV4Usage;
    readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
    readonly warnings?: readonly SharedV4Warning[] | undefined;
  }): void {
    this.#finishReason = end.finishReason;
    this.#usage = end.usage;
    this.#providerMetadata = end.providerMetadata;
    if (end.warnings) this.#warnings.push(...end.warnings);
  }

  /** True for a reply of which nothing has arrived, not even an end. */
  get isMissing(): boolean {
    const isEmpty = !this.#parts.some(hasContent) && this.#malformed.length === 0;
    return isEmpty && !(this.#finishReason && isWhole(this.#finishReason));
  }

  /** Returns the whole reply. A reply without an end has none of its calls, because they may be incomplete. */
  finish(): LlmResponse {
    const parts = this.#parts.filter(hasContent);
    const custom = {
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
      ...(hasValues(this.#providerMetadata) && { providerMetadata: this.#providerMetadata }),
    };
    const whole: LlmResponse = {
      ...(parts.length > 0 && { content: { role: 'model', parts } }),
      ...(this.#usage && { usageMetadata: toUsage(this.#usage) }),
      ...(this.#modelId !== undefined && { modelVersion: this.#modelId }),
      ...(this.#sources.length > 0 && { groundingMetadata: { groundingChunks: this.#sources.map(toGroundingChunk) } }),
      ...(this.#citations.length > 0 && { citationMetadata: { citations: this.#citations } }),
      ...(Object.keys(custom).length > 0 && { customMetadata: { aiSdk: custom } }),
      responseId: this.#responseId,
    };
    return this.#ended(whole);
  }

  #ended(whole: LlmResponse): LlmResponse {
    const { unified, raw } = this.#finishReason ?? { unified: 'interrupted', raw: undefined };
    const calls = callsToRun(whole.content?.parts).map(({ name = '' }) => name);
    if (!isWhole({ unified, raw })) {
      const names = [...calls, ...this.#malformed];
      if (names.length > 0) return withoutCalls(whole, names);
      return { ...whole, errorCode: 'NO_FINISH_REASON', errorMessage: 'the reply stopped without a finish reason' };
    }
    if (this.#malformed.length > 0 && unified !== 'length') {
      const errorMessage = `the arguments of the call of ${this.#malformed.map((name) => JSON.stringify(name)).join(', ')} are not a JSON object`;
      const finishReason = 'MALFORMED_FUNCTION_CALL';
      return withoutCalls({ ...whole, finishReason, errorCode: finishReason, errorMessage }, this.#malformed);
    }
    const finishReason = FINISH_REASONS[unified] ?? 'OTHER';
    if (finishReason === 'STOP') return { ...whole, finishReason };
    const errorMessage = `the model stopped: ${raw ?? unified}`;
    const cut = { ...whole, finishReason, errorCode: finishReason, errorMessage };
    return this.#malformed.length > 0 ? withoutCalls(cut, this.#malformed) : cut;
  }

  #chunk(...added: readonly Part[]): LlmResponse {
    this.#isShown = true;
    const parts = [...this.#held, ...added];
    this.#held = [];
    return { content: { role: 'model', parts }, partial: true, responseId: this.#responseId };
  }

  #start(isThought: boolean, id: string, metadata: SharedV4ProviderMetadata | undefined): Part {
    const part: Part = isThought ? { text: '', thought: true } : { text: '' };
    this.#note(part, metadata);
    this.#open.set(keyOf(isThought, id), part);
    this.#parts.push(part);
    return part;
  }

  #addDelta(
    isThought: boolean,
    id: string,
    delta: string,
    metadata: SharedV4ProviderMetadata | undefined,
  ): LlmResponse | undefined {
    const part = this.#open.get(keyOf(isThought, id)) ?? this.#start(isThought, id, metadata);
    this.#note(part, metadata);
    if (delta === '') return undefined;
    part.text += delta;
    return this.#chunk(isThought ? { text: delta, thought: true } : { text: delta });
  }

  #end(end: Extract<LanguageModelV4StreamPart, { type: 'text-end' | 'reasoning-end' }>): void {
    const key = keyOf(end.type === 'reasoning-end', end.id);
    const part = this.#open.get(key);
    this.#open.delete(key);
    if (part) this.#note(part, end.providerMetadata);
    if (end.type === 'text-end') this.#cite(end.citations);
  }

  /**
   * Records the provider of a part that has data of this provider. Thoughts and calls are always recorded, because they
   * go only to the provider that made them.
   */
  #note(part: Part, metadata: SharedV4ProviderMetadata | undefined): void {
    if (!part.thought && !part.functionCall && !part.toolCall && !part.toolResponse && !hasValues(metadata)) return;
    const known = part.partMetadata?.['madeBy'] as MadeBy | undefined;
    const providerMetadata: Record<string, unknown> = { ...known?.providerMetadata };
    for (const [vendor, values] of Object.entries(metadata ?? {}))
      providerMetadata[vendor] = { ...(providerMetadata[vendor] as object | undefined), ...values };
    const madeBy: MadeBy = {
      ...known,
      provider: this.#provider,
      ...(hasValues(providerMetadata) && { providerMetadata }),
    };
    part.partMetadata = { ...part.partMetadata, madeBy };
  }

  #noted(part: Part, metadata: SharedV4ProviderMetadata | undefined): Part {
    this.#note(part, metadata);
    return part;
  }

  #cite(citations: Extract<LanguageModelV4Content, { type: 'text' }>['citations']): void {
    for (const { source, startIndex, endIndex } of citations ?? []) {
      this.#citations.push({
        ...(source.sourceType === 'url' && { uri: source.url }),
        ...(source.title !== undefined && { title: source.title }),
        ...(startIndex !== undefined && { startIndex }),
        ...(endIndex !== undefined && { endIndex }),
      });
    }
  }

  #toPart(content: LanguageModelV4Content): Part | undefined {
    const { providerMetadata } = content;
    switch (content.type) {
      case 'text':
        this.#cite(content.citations);
        return this.#noted({ text: content.text }, providerMetadata);
      case 'reasoning':
        return this.#noted({ text: content.text, thought: true }, providerMetadata);
      case 'file':
        return this.#noted(toMedia(content.mediaType, content.data), providerMetadata);
      case 'reasoning-file':
        return this.#noted({ ...toMedia(content.mediaType, content.data), thought: true }, providerMetadata);
      case 'tool-call': {
        const { toolCallId, toolName, input, providerExecuted } = content;
        const args = parseArgs(input);
        if (providerExecuted) {
          return this.#noted({ toolCall: { id: toolCallId, toolType: toolName, args: args ?? {} } }, providerMetadata);
        }
        if (!args) {
          this.#malformed.push(toolName);
          return undefined;
        }
        return this.#noted({ functionCall: { id: toolCallId, name: toolName, args } }, providerMetadata);
      }
      case 'tool-result': {
        if (content.preliminary) return undefined;
        const { toolCallId, toolName, result, isError } = content;
        const response = isError ? { error: result } : isRecord(result) ? result : { result };
        return this.#noted({ toolResponse: { id: toolCallId, toolType: toolName, response } }, providerMetadata);
      }
      case 'source':
        // Some providers report a page twice: when they find it, and when they cite it.
        if (content.sourceType === 'url' && this.#pages.has(content.url)) return undefined;
        if (content.sourceType === 'url') this.#pages.add(content.url);
        this.#sources.push(content);
        return undefined;
      case 'custom': {
        if (content.kind === MESSAGE_START) return undefined;
        const part: Part = { text: '', thought: true };
        const madeBy: MadeBy = { provider: this.#provider, kind: content.kind };
        part.partMetadata = { madeBy };
        return this.#noted(part, providerMetadata);
      }
      case 'tool-approval-request':
        this.#warnings.push({
          type: 'unsupported',
          feature: 'approval of tools that the service runs',
          details: `The call ${content.toolCallId} waits for an approval that cannot be given.`,
        });
        return undefined;
    }
  }
}

function hasContent({ text, partMetadata }: Part): boolean {
  return text !== '' || partMetadata !== undefined;
}

/**
 * Returns false for a stream that ended without a finish reason. Before version 4 of the specification its reason is
 * `other` without a raw name.
 */
function isWhole({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified !== 'interrupted' && !(unified === 'other' && raw === undefined);
}

/** A metadata part that begins a stream; it is not read when it is sent back. */
const MESSAGE_START = 'anthropic.message_start';

const FINISH_REASONS: Readonly<Record<string, string>> = {
  stop: 'STOP',
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'content-filter': 'SAFETY',
};

function keyOf(isThought: boolean, id: string): string {
  return `${isThought ? 'thought' : 'text'} ${id}`;
}

/** Parses the arguments of a call; undefined if they are not a JSON object. Services omit the arguments of a call that has none. */
function parseArgs(input: string): Record<string, unknown> | undefined {
  const args = input.trim() === '' ? {} : tryParseJson(input);
  return isRecord(args) ? args : undefined;
}

/** Version 3 of the specification has the data itself; version 4 has its kind as well. */
function toMedia(mimeType: string, data: unknown): Part {
  if (typeof data === 'string') return { inlineData: { mimeType, data } };
  if (data instanceof Uint8Array) return { inlineData: { mimeType, data: encodeBase64(data) } };
  if (isRecord(data) && data['type'] === 'url') return { fileData: { mimeType, fileUri: String(data['url']) } };
  return isRecord(data) ? toMedia(mimeType, data['data']) : { inlineData: { mimeType, data: '' } };
}

/** Counts tokens like Gemini: those of the answer and of the thoughts separately. */
function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): UsageMetadata {
  const { total: prompt, cacheRead, cacheWrite } = inputTokens;
  const { total: output, text, reasoning } = outputTokens;
  const candidates = text ?? (output === undefined ? undefined : output - (reasoning ?? 0));
  return {
    ...(prompt !== undefined && { promptTokenCount: prompt }),
    ...(candidates !== undefined && { candidatesTokenCount: candidates }),
    ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
    ...(cacheRead !== undefined && { cachedContentTokenCount: cacheRead }),
    ...(cacheWrite !== undefined && { cacheWriteTokenCount: cacheWrite }),
    ...(prompt !== undefined && output !== undefined && { totalTokenCount: prompt + output }),
  };
}

function toGroundingChunk(source: LanguageModelV4Source): object {
  const title = source.title === undefined ? {} : { title: source.title };
  return source.sourceType === 'url'
    ? { web: { uri: source.url, ...title } }
    : { retrievedContext: { ...title, ...(source.filename !== undefined && { uri: source.filename }) } };
}

/** True for metadata in which a vendor has a value. */
function hasValues(metadata: Readonly<Record<string, unknown>> | undefined): boolean {
  return Object.values(metadata ?? {}).some((values) => isRecord(values) && Object.keys(values).length > 0);
}
