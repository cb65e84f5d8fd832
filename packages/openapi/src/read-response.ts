import { jsonOrText } from '@eventloom/core/internal';
import { encodeBase64, type ToolContext, toolResult } from '@eventloom/core';
import type { RestResponse } from './rest-client.ts';
import { JSON_TYPE, mediaTypeOf, READABLE_MEDIA_TYPE, TEXT_TYPE } from './media-types.ts';

/** Maximum length of a response header for the model, in characters. */
const MAX_HEADER = 1_000;
/** Headers that models get from every response, in addition to those that the document describes. */
const USEFUL_HEADERS = ['content-location', 'link', 'location', 'retry-after'];
/** Headers that models never get. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['set-cookie', 'authorization', 'proxy-authorization']);

/** Parameters of `toResult`. */
interface ResultParams {
  readonly response: RestResponse;
  /** Names of headers that the document describes for the operation. */
  readonly describedHeaders: readonly string[];
  readonly maxCharacters: number;
  /** Name of the artifact for a file that models cannot read, without an extension. */
  readonly artifactName: string;
  readonly toolContext: ToolContext;
}

/**
 * Converts a response to the result for the model: `{ status, headers?, body }`, and `error` for a status of 400 and
 * above. JSON is parsed, text is returned as text, images and other media become parts, and other files are saved as
 * artifacts if the runner has a service for them.
 */
export async function toResult(params: ResultParams): Promise<unknown> {
  const { response, maxCharacters } = params;
  const { status, bytes, isTruncated } = response;
  const head = {
    ...(status >= 400 && { error: `the API answered with HTTP status ${status}` }),
    status,
    ...headersFor(params),
  };
  if (bytes.length === 0) return head;
  const contentType = response.headers.get('content-type') ?? '';
  const mediaType = mediaTypeOf(contentType) || (isText(bytes) ? 'text/plain' : 'application/octet-stream');
  if (JSON_TYPE.test(mediaType) || TEXT_TYPE.test(mediaType)) {
    const text = decoderFor(contentType).decode(bytes);
    if (isTruncated || text.length > maxCharacters)
      return {
        ...head,
        body: text.slice(0, maxCharacters).toWellFormed(),
        truncated: `the body is longer than ${Math.min(maxCharacters, text.length)} characters; this is its beginning`,
      };
    return { ...head, body: JSON_TYPE.test(mediaType) ? jsonOrText(text) : text };
  }
  if (isTruncated)
    return { ...head, truncated: `the body, ${mediaType}, is longer than ${bytes.length} bytes; it was not read` };
  if (READABLE_MEDIA_TYPE.test(mediaType))
    return toolResult({
      response: { ...head, mediaType },
      parts: [{ inlineData: { mimeType: mediaType, data: encodeBase64(bytes) } }],
    });
  return { ...head, mediaType, size: bytes.length, ...(await saveFile(params, mediaType, bytes)) };
}

async function saveFile(
  { artifactName, toolContext }: ResultParams,
  mimeType: string,
  bytes: Uint8Array,
): Promise<Readonly<Record<string, unknown>>> {
  if (!toolContext.invocationContext.artifactService) return { note: 'the body is binary and is left out' };
  const [, subtype = ''] = mimeType.split('/');
  const name = `${artifactName}.${subtype.replaceAll(/[^\w.+-]/g, '').slice(0, 40) || 'bin'}`;
  const version = await toolContext.saveArtifact(name, { inlineData: { mimeType, data: encodeBase64(bytes) } });
  return { artifact: name, version };
}

function headersFor({ response, describedHeaders }: ResultParams): { readonly headers?: Record<string, string> } {
  const names = new Set([...USEFUL_HEADERS, ...describedHeaders.map((name) => name.toLowerCase())]);
  const shown = [...names].flatMap((name) => {
    const value = SECRET_HEADERS.has(name) ? null : response.headers.get(name);
    return value === null ? [] : [[name, value.slice(0, MAX_HEADER)] as const];
  });
  return shown.length === 0 ? {} : { headers: Object.fromEntries(shown) };
}

/** True for bytes without control characters, which are likely text of an unknown type. */
function isText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 512).every((byte) => byte >= 32 || byte === 9 || byte === 10 || byte === 13);
}

function decoderFor(contentType: string): TextDecoder {
  const charset = /charset="?([\w:.-]{1,40})/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset);
  } catch {
    // The runtime does not know this character set.
    return new TextDecoder();
  }
}
