import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { type Content, decodeBase64, type FunctionResponse, type Part } from '@eventloom/core';
import { acceptsMedia, CONTINUE, isBase64, isRecord, madeByOf, normaliseBase64 } from '@eventloom/core/internal';

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];
type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];

interface PartOptions {
  readonly providerOptions?: SharedV4ProviderOptions;
}

/** The model that reads a prompt. */
export interface PromptReader {
  /** Name of its provider, e.g. `openai.responses`. */
  readonly provider: string;
  /** Patterns of the media types that it reads in messages. */
  readonly media: readonly string[];
}

/** A prompt, and the parts of the request that it leaves out. */
interface ConvertedPrompt {
  readonly prompt: LanguageModelV4Prompt;
  readonly warnings: readonly SharedV4Warning[];
}

/**
 * Converts the system instruction and the contents of a request to a prompt of the AI SDK. Nothing is modified.
 *
 * Reasoning, tool calls of a vendor's service and the metadata of parts go only to the provider that made them. Calls that another
 * provider made, or that have no id, get an id by their position in the history, so the same history gives the same ids.
 */
export function toPrompt(
  systemInstruction: unknown,
  contents: readonly Content[],
  reader: PromptReader,
): ConvertedPrompt {
  const builder = new PromptBuilder(reader);
  const system = instructionText(systemInstruction);
  if (system !== '') builder.prompt.push({ role: 'system', content: system });
  for (const content of contents) builder.add(content);
  const last = builder.prompt.at(-1)?.role;
  if (last !== 'user' && last !== 'tool')
    builder.prompt.push({ role: 'user', content: [{ type: 'text', text: CONTINUE }] });
  return builder;
}

/** Returns the text of a system instruction: a string, a content, a part, or a list of them. */
function instructionText(instruction: unknown): string {
  if (typeof instruction === 'string') return instruction;
  if (Array.isArray(instruction)) return instruction.map(instructionText).join('\n');
  if (!isRecord(instruction)) return '';
  return typeof instruction['text'] === 'string' ? instruction['text'] : instructionText(instruction['parts']);
}

class PromptBuilder implements ConvertedPrompt {
  readonly prompt: LanguageModelV4Prompt = [];
  readonly warnings: SharedV4Warning[] = [];
  readonly #reader: PromptReader;
  /** Ids in the prompt of the calls without a response so far, by their id in the history, or by their name if they have none. */
  readonly #open = new Map<string, string[]>();
  readonly #ids = new Set<string>();
  #calls = 0;

  constructor(reader: PromptReader) {
    this.#reader = reader;
  }

  add({ role, parts = [] }: Content): void {
    if (role === 'model') this.#addAssistant(parts);
    else this.#addUser(parts);
  }

  #addAssistant(parts: readonly Part[]): void {
    const content: AssistantPart[] = [];
    for (const part of parts) {
      const converted = this.#toAssistantPart(part);
      if (converted) content.push(converted);
    }
    if (content.length > 0) this.prompt.push({ role: 'assistant', content });
  }

  #toAssistantPart(part: Part): AssistantPart | undefined {
    const { text, functionCall, toolCall, toolResponse } = part;
    const maker = madeByOf(part);
    const isOwn = maker?.provider === this.#reader.provider;
    const options =
      isOwn && maker.providerMetadata ? { providerOptions: toProviderOptions(maker.providerMetadata) } : {};
    if (functionCall) {
      const { id, name = '', args = {} } = functionCall;
      const toolCallId = this.#callId(isOwn ? id : undefined);
      const key = id ?? name;
      const open = this.#open.get(key);
      if (open) open.push(toolCallId);
      else this.#open.set(key, [toolCallId]);
      return { type: 'tool-call', toolCallId, toolName: name, input: args, ...options };
    }
    if (toolCall || toolResponse) return isOwn ? toServicePart(part, options) : undefined;
    if (part.thought === true) return isOwn ? this.#toThought(part, maker.kind, options) : undefined;
    if (text !== undefined) return text.trim() === '' ? undefined : { type: 'text', text, ...options };
    const file = this.#toFile(part);
    if (!file) return undefined;
    if (isOwn || file.type === 'text') return { ...file, ...options };
    return { type: 'text', text: `(a file of the type ${file.mediaType})` };
  }

  #toThought(part: Part, kind: string | undefined, options: PartOptions): AssistantPart | undefined {
    if (isCustomKind(kind)) return { type: 'custom', kind, ...options };
    if (part.text !== undefined) return { type: 'reasoning', text: part.text, ...options };
    const file = this.#toFile(part);
    if (file?.type !== 'file' || (file.data.type !== 'data' && file.data.type !== 'url')) return undefined;
    return { type: 'reasoning-file', mediaType: file.mediaType, data: file.data, ...options };
  }

  /** @param id the id that the reader's own provider gave the call */
  #callId(id: string | undefined): string {
    this.#calls++;
    let callId = id ?? '';
    // Nine letters and digits, which the services of all vendors accept.
    for (let at = this.#calls; callId === '' || this.#ids.has(callId); at++)
      callId = `call${String(at).padStart(5, '0')}`;
    this.#ids.add(callId);
    return callId;
  }

  /** Adds a user message. Services require tool results before all other parts of the message. */
  #addUser(parts: readonly Part[]): void {
    const results: LanguageModelV4ToolResultPart[] = [];
    const content: UserPart[] = [];
    for (const part of parts) {
      const { functionResponse } = part;
      if (!functionResponse) {
        const converted = this.#toUserPart(part);
        if (converted) content.push(converted);
        continue;
      }
      const { id, name = '' } = functionResponse;
      const toolCallId = this.#open.get(id ?? name)?.shift();
      const output = this.#toOutput(functionResponse);
      if (toolCallId === undefined) content.push({ type: 'text', text: responseAsText(functionResponse) });
      else results.push({ type: 'tool-result', toolCallId, toolName: name, output });
    }
    if (results.length > 0) this.prompt.push({ role: 'tool', content: results });
    if (content.length > 0) this.prompt.push({ role: 'user', content });
  }

  #toUserPart(part: Part): UserPart | undefined {
    const { text, thought } = part;
    if (thought === true) return undefined;
    if (text !== undefined) return text.trim() === '' ? undefined : { type: 'text', text };
    return this.#toFile(part);
  }

  #toOutput({ response = {}, parts = [] }: FunctionResponse): LanguageModelV4ToolResultOutput {
    const output = toOutput(response);
    if (parts.length === 0) return output;
    const text = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
    const files = parts.flatMap((part) => this.#toFile(part) ?? []);
    return { type: 'content', value: [{ type: 'text', text }, ...files] };
  }

  /** Converts media and code. Media that the reader does not read becomes a text that says so. */
  #toFile({ inlineData, fileData, executableCode, codeExecutionResult }: Part): UserPart | undefined {
    if (executableCode) return { type: 'text', text: `\`\`\`\n${executableCode.code ?? ''}\n\`\`\`` };
    if (codeExecutionResult) return { type: 'text', text: `Result of the code:\n${codeExecutionResult.output ?? ''}` };
    if (!inlineData && !fileData) return undefined;
    const { mimeType = 'application/octet-stream', displayName } = inlineData ?? fileData ?? {};
    const named = displayName === undefined ? {} : { filename: displayName };
    const data = inlineData ? (inlineData.data ?? '') : dataOfUrl(fileData?.fileUri);
    const isRead = acceptsMedia(this.#reader.media, mimeType);
    if (data !== undefined) {
      if (isRead)
        return { type: 'file', mediaType: mimeType, data: { type: 'data', data: normaliseBase64(data) }, ...named };
      if (isText(mimeType) && isBase64(data)) return { type: 'text', text: fileText(data, displayName) };
    }
    const url = data === undefined ? webUrl(fileData?.fileUri) : undefined;
    if (url && isRead)
      return {
        type: 'file',
        mediaType: mimeType,
        data: { type: 'url', url },
        ...named,
      } satisfies LanguageModelV4FilePart;
    const called = displayName === undefined ? '' : ` "${displayName}"`;
    this.warnings.push({
      type: 'unsupported',
      feature: `file of the type ${mimeType}`,
      details: 'The model was sent a text in its place.',
    });
    return { type: 'text', text: `(a file${called} of the type ${mimeType}, which you cannot read)` };
  }
}

/** Converts a tool call of the vendor's own service, or its result. */
function toServicePart({ toolCall, toolResponse }: Part, options: PartOptions): AssistantPart | undefined {
  const call: Readonly<Record<string, unknown>> = { ...(toolCall ?? toolResponse) };
  const { id, toolType } = call;
  if (typeof id !== 'string' || typeof toolType !== 'string') return undefined;
  const names = { toolCallId: id, toolName: toolType };
  if (toolCall) return { type: 'tool-call', ...names, input: call['args'] ?? {}, providerExecuted: true, ...options };
  const response = isRecord(call['response']) ? call['response'] : {};
  return { type: 'tool-result', ...names, output: toOutput(response), ...options };
}

/** Converts the response of a tool: an error as an error, a text as a text. */
function toOutput(
  response: Readonly<Record<string, unknown>>,
): Extract<LanguageModelV4ToolResultOutput, { value: string | JSONValue }> {
  const keys = Object.keys(response);
  const { error, result, output } = response;
  if (keys.length === 1 && typeof error === 'string') return { type: 'error-text', value: error };
  const text = keys.length === 1 ? (result ?? output) : undefined;
  if (typeof text === 'string') return { type: 'text', value: text };
  return { type: 'json', value: response as JSONValue };
}

/** Returns a response as text, for services that refuse a response without its call. */
function responseAsText({ name = '', response = {} }: FunctionResponse): string {
  return `For context: tool \`${name}\` returned result: ${JSON.stringify(response)}`;
}

function isCustomKind(kind: string | undefined): kind is `${string}.${string}` {
  return kind !== undefined && kind.includes('.');
}

function toProviderOptions(metadata: Readonly<Record<string, unknown>>): SharedV4ProviderOptions {
  return metadata as SharedV4ProviderOptions;
}

/** Returns the base64 of a `data:` URL; undefined for another address. */
function dataOfUrl(uri: string | undefined): string | undefined {
  if (uri?.startsWith('data:') !== true) return undefined;
  const comma = uri.indexOf(',');
  return uri.slice(0, comma).endsWith(';base64') ? uri.slice(comma + 1) : undefined;
}

function webUrl(uri: string | undefined): URL | undefined {
  return uri !== undefined && /^https?:/i.test(uri) && URL.canParse(uri) ? new URL(uri) : undefined;
}

/** Returns true for files that every model can read as text. */
function isText(mimeType: string): boolean {
  return /^(?:text\/|application\/(?:json|xml|yaml)\b)/.test(mimeType);
}

function fileText(data: string, name = 'file'): string {
  return `${name}:\n${new TextDecoder().decode(decodeBase64(data))}`;
}
