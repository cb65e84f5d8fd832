import type { ContentBlock } from '@modelcontextprotocol/client';
import { type Part, toolResult } from '@eventloom/core';
import { isRecord, isSameJson, tryParseJson } from '@eventloom/core/internal';
import { isDeeperThan } from '@eventloom/core/wire';

/** Maximum length of a result as JSON, in characters, without media. */
const MAX_CHARACTERS = 262_144;
/** Maximum number of levels of structured content. */
const MAX_DEPTH = 64;
/** Maximum number of media in one result. */
const MAX_MEDIA = 16;
/** Maximum length of the base64 text of all media of one result, in characters. */
const MAX_MEDIA_CHARACTERS = 10_485_760;

/** The parts of the answer to a call that the model gets. */
interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

/**
 * Converts the answer to a call to the tool's result:
 * - structured content is the response itself; with a text that differs from it, `{ structuredContent, content }`
 * - one text is `{ result: text }`; several blocks are `{ content: [...] }`, in order, with texts as strings
 * - images, audio, video and PDF files become media of the response, and `content` says where they were
 * - the text of a resource is in `content`, with its address; a link is its address and name
 * - an error is `{ error: text }`
 *
 * A result that is too large becomes an error with its size. Media beyond the limits are left out, and `content` says so.
 */
export function toToolResult(result: CallResult): unknown {
  const media: Part[] = [];
  const blocks = describeBlocks(result.content, media);
  if (result.isError === true) {
    const texts = blocks.filter((block) => typeof block === 'string');
    return { error: cut(texts.join('\n') || 'the tool failed without saying why') };
  }
  return toResponseWithMedia(toResponse(result, blocks), media);
}

/** Returns a tool's response with its media, or an error if the response is too large. */
export function toResponseWithMedia(response: Record<string, unknown>, media: readonly Part[]): unknown {
  const fault = sizeFault(response);
  if (fault !== undefined) return { error: fault };
  return media.length > 0 ? toolResult({ response, parts: media }) : response;
}

function toResponse({ structuredContent }: CallResult, blocks: readonly unknown[]): Record<string, unknown> {
  if (structuredContent === undefined) {
    const [only] = blocks;
    if (blocks.length === 0) return { result: null };
    return blocks.length === 1 && typeof only === 'string' ? { result: only } : { content: blocks };
  }
  // Servers repeat structured content as text for clients that cannot read it.
  const others = blocks.filter((block) => !saysTheSame(block, structuredContent));
  if (others.length > 0) return { structuredContent, content: others };
  return isRecord(structuredContent) ? structuredContent : { result: structuredContent };
}

function saysTheSame(block: unknown, structuredContent: unknown): boolean {
  return typeof block === 'string' && isSameJson(tryParseJson(block), structuredContent);
}

/** Describes content blocks for the model, in order, and adds their media to `media`. */
export function describeBlocks(content: readonly ContentBlock[], media: Part[]): unknown[] {
  return content.map((block) => {
    switch (block.type) {
      case 'text':
        return block.text;
      case 'image':
      case 'audio':
        return describeMedia({ type: block.type, mimeType: block.mimeType }, block.data, media);
      case 'resource_link': {
        const { uri, name, title, description, mimeType, size } = block;
        return { type: 'resource_link', uri, name, title, description, mimeType, size };
      }
      case 'resource':
        return describeResource(block.resource, media);
      default:
        return { type: 'unknown' };
    }
  });
}

/** The contents of a resource: its text, or its bytes as base64. */
interface ResourceContent {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: unknown;
  readonly blob?: unknown;
}

/** Describes a resource for the model: its address and its text. Adds media to `media`, and leaves out other bytes. */
export function describeResource({ uri, mimeType, text, blob }: ResourceContent, media: Part[]): object {
  if (typeof text === 'string') return { type: 'resource', uri, mimeType, text };
  const data = typeof blob === 'string' ? blob : '';
  if (mimeType !== undefined && isMediaType(mimeType))
    return describeMedia({ type: 'resource', uri, mimeType }, data, media);
  return { type: 'resource', uri, mimeType, omitted: `${Math.floor((data.length * 3) / 4)} bytes that are not media` };
}

function describeMedia<T extends { readonly mimeType: string }>(described: T, data: string, media: Part[]): object {
  const before = media.reduce((sum, { inlineData }) => sum + (inlineData?.data?.length ?? 0), 0);
  if (media.length >= MAX_MEDIA || before + data.length > MAX_MEDIA_CHARACTERS)
    return { ...described, omitted: 'the result has more media than a response can hold' };
  if (!isBase64Text(data)) return { ...described, omitted: 'its data is not base64' };
  media.push({ inlineData: { mimeType: described.mimeType, data } });
  return { ...described, part: media.length - 1 };
}

function isMediaType(mimeType: string): boolean {
  return /^(image|audio|video)\//i.test(mimeType) || mimeType.toLowerCase() === 'application/pdf';
}

function isBase64Text(data: string): boolean {
  return data !== '' && /^[\w+/-]*={0,2}$/.test(data);
}

function sizeFault(response: Record<string, unknown>): string | undefined {
  if (isDeeperThan(MAX_DEPTH, response)) return `the result has more than ${MAX_DEPTH} levels of lists and objects`;
  const { length } = JSON.stringify(response);
  return length > MAX_CHARACTERS
    ? `the result has ${length} characters; at most ${MAX_CHARACTERS} are allowed; ask for less at a time`
    : undefined;
}

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
