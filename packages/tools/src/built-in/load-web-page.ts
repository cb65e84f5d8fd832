import { type MaybePromise, toError } from '@eventloom/core';
import { checkOptions, integer, joinBytes, type OptionRules } from '@eventloom/core/internal';
import { openPublicUrl } from '#open-public-url';
import { FunctionTool } from '../function-tool.ts';
import type { JsonSchema } from '../schema/standard-schema.ts';
import { htmlToText } from './html-to-text.ts';

/** Options of `loadWebPage`. */
export interface LoadWebPageOptions {
  /** Time limit for the page and all redirects, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Maximum length of the text, in characters; longer text is truncated. Default 100,000. */
  readonly maxCharacters?: number;
  /** Aborts the request. Default: none. */
  readonly signal?: AbortSignal;
  /**
   * Sends one request without following redirects, and refuses addresses that are not public. Default: on Node a request whose host name is
   * resolved and checked first; elsewhere `fetch`, with a check of the URL only.
   */
  readonly open?: (url: string, signal: AbortSignal) => MaybePromise<Response>;
}

const OPTIONS: OptionRules<LoadWebPageOptions> = {
  timeoutMs: integer(1),
  maxCharacters: integer(1),
  signal: 'object',
  open: 'function',
};
const MAX_REDIRECTS = 5;
/** Maximum size of a page, in bytes. */
const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Returns the text of a web page, without markup. Does not throw for a page that cannot be read: returns `Failed to fetch url: <url>` with
 * the reason.
 *
 * Reads only pages of the public internet: `http:` and `https:` URLs, also after redirects, whose hosts are not this machine or in an
 * internal network. On Node every address that a name resolves to is checked, and the connection is made to that address. On Workers and in
 * browsers names are not resolved here.
 *
 * @throws ConfigurationError for an unknown option and a number that is not positive
 */
export async function loadWebPage(url: string, options: LoadWebPageOptions = {}): Promise<string> {
  checkOptions('loadWebPage', OPTIONS, options);
  const { timeoutMs = 30_000, maxCharacters = 100_000, signal, open = openPublicUrl } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await follow(url, open, signal ? AbortSignal.any([signal, timeout]) : timeout);
    const text = await readText(response);
    return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters).toWellFormed()}…`;
  } catch (error) {
    const reason = timeout.aborted ? `no answer in ${timeoutMs} ms` : toError(error).message;
    return `Failed to fetch url: ${url} (${reason})`;
  }
}

type Open = NonNullable<LoadWebPageOptions['open']>;

async function follow(url: string, open: Open, signal: AbortSignal): Promise<Response> {
  let address = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await open(address, signal);
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, address)) throw new TypeError('it redirects to an invalid URL');
    address = new URL(location, address).href;
  }
  throw new TypeError(`it redirects more than ${MAX_REDIRECTS} times`);
}

const MARKUP = /html/;
const TEXT = /^text\/|[/+](json|xml|yaml|javascript)$|^application\/(x-ndjson|csv)$|^$/;

async function readText(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  const [mimeType = '', ...parameters] = type
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const isText = MARKUP.test(mimeType) || TEXT.test(mimeType);
  if (response.status !== 200 || !isText) {
    await response.body?.cancel();
    throw new TypeError(
      response.status === 200 ? `it is ${mimeType} and not text` : `it answered with HTTP status ${response.status}`,
    );
  }
  const bytes = await readBytes(response);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  const text = decoderFor(charset?.replaceAll('"', '')).decode(bytes);
  return MARKUP.test(mimeType) || mimeType === '' ? htmlToText(text) : text;
}

/** Reads the body up to the limit, and drops the rest. */
async function readBytes(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    pieces.push(piece);
    size += piece.length;
    if (size >= MAX_BYTES) break;
  }
  return joinBytes(pieces).subarray(0, MAX_BYTES);
}

/** Returns a decoder for the character set, or for UTF-8 if the runtime does not know it. */
function decoderFor(charset = 'utf-8'): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/**
 * The tool `load_web_page`, with which a model reads pages of the public internet: see `loadWebPage`. Any number of agents can share
 * it.
 */
export const LOAD_WEB_PAGE: FunctionTool<JsonSchema> = /* @__PURE__ */ new FunctionTool({
  name: 'load_web_page',
  description: 'Fetches the page at a URL and returns its text.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { url: { type: 'string', description: 'The URL of the page, with its scheme.' } },
    required: ['url'],
  },
  execute: ({ url }, { abortSignal }) => loadWebPage(String(url), { signal: abortSignal }),
});
