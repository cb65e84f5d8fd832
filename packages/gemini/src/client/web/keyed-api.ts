import { isRecord, setOwn } from '@eventloom/core/internal';
import { ApiError, type HttpOptions } from '@google/genai';
import type { GeminiClientOptions } from '../client-options.ts';

/** A request as the parts of `@google/genai` create it. The path is below the API version. */
export interface ApiRequest {
  readonly path: string;
  readonly queryParams?: Readonly<Record<string, string>>;
  /** The body as JSON. */
  readonly body: string;
  readonly httpMethod: string;
  /** Options of this request, which take precedence over those of the client. */
  readonly httpOptions?: HttpOptions | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** An answer, or one piece of it. */
interface ApiResponse {
  readonly headers: Readonly<Record<string, string>>;
  json(): Promise<unknown>;
}

interface KeyedApiOptions extends GeminiClientOptions {
  readonly apiKey: string;
}

const KEY_HEADER = 'x-goog-api-key';

/**
 * The Gemini API or Vertex AI with an API key: the client that `Models` of `@google/genai` calls, which also opens live
 * connections. It sends the same requests and throws the same errors as the client of `@google/genai`; the tests of
 * this package run with both.
 */
export class KeyedApi {
  readonly #apiKey: string;
  readonly #vertexai: boolean;
  /** The project and location; undefined if the key identifies them. */
  readonly #project: { readonly name: string; readonly location: string } | undefined;
  readonly #http: HttpOptions;

  constructor(options: KeyedApiOptions) {
    const {
      apiKey,
      vertexai = false,
      project,
      location = 'global',
      headers,
      baseUrl,
      apiVersion,
      httpOptions,
    } = options;
    this.#apiKey = apiKey;
    this.#vertexai = vertexai;
    this.#project = vertexai && project ? { name: project, location } : undefined;
    this.#http = {
      baseUrl: vertexai ? vertexOrigin(this.#project?.location) : 'https://generativelanguage.googleapis.com',
      apiVersion: vertexai ? 'v1beta1' : 'v1',
      ...httpOptions,
      ...(baseUrl && { baseUrl }),
      ...(apiVersion && { apiVersion }),
      headers: { 'content-type': 'application/json', ...httpOptions?.headers, ...headers },
    };
  }

  isVertexAI(): boolean {
    return this.#vertexai;
  }

  getProject(): string | undefined {
    return this.#project?.name;
  }

  getLocation(): string | undefined {
    return this.#project?.location;
  }

  /** Returns the address and headers of live connections. The Gemini API takes the key in the address. */
  async liveTarget(): Promise<{ readonly url: string; readonly headers: Record<string, string> }> {
    const { baseUrl = '', apiVersion, headers: given } = this.#http;
    const { href } = new URL(baseUrl.replace(/^http/, 'ws'));
    const headers = new Headers(given);
    if (this.#vertexai) await this.addAuthHeaders(headers);
    const isToken = this.#apiKey.startsWith('auth_tokens/');
    const service = this.#vertexai
      ? `cloud.aiplatform.${apiVersion}.LlmBidiService/BidiGenerateContent`
      : `ai.generativelanguage.${apiVersion}.GenerativeService.BidiGenerateContent${isToken ? 'Constrained?access_token' : '?key'}=${this.#apiKey}`;
    return { url: `${href}/ws/google.${service}`, headers: Object.fromEntries(headers) };
  }

  /** Adds the key, unless the headers already have one. */
  async addAuthHeaders(headers: Headers): Promise<void> {
    if (!headers.has(KEY_HEADER)) headers.set(KEY_HEADER, this.#apiKey);
  }

  /** Sends a request. @throws ApiError for a status other than 2xx; what fetch throws */
  async request(request: ApiRequest): Promise<ApiResponse> {
    const response = await this.#fetch(request);
    return { headers: Object.fromEntries(response.headers), json: () => response.json() };
  }

  /**
   * Sends a request, and returns the events of the streamed answer.
   * @throws ApiError for a status other than 2xx, and later for an error in the stream; what fetch throws
   */
  async requestStream(request: ApiRequest): Promise<AsyncGenerator<ApiResponse, void, void>> {
    return pieces(await this.#fetch(request));
  }

  async #fetch({ path, queryParams = {}, body, httpMethod, httpOptions, abortSignal }: ApiRequest): Promise<Response> {
    const { baseUrl = '', apiVersion = '', timeout, headers: given, extraBody, ...http } = this.#with(httpOptions);
    const { name, location } = this.#project ?? {};
    const parent = name && !path.startsWith('projects/') ? `projects/${name}/locations/${location}` : '';
    const place = [baseUrl.replace(/\/$/, ''), apiVersion, parent, path];
    const url = new URL(place.filter((part) => part !== '').join('/'));
    for (const [key, value] of Object.entries(queryParams)) url.searchParams.append(key, value);
    const headers = new Headers(given);
    await this.addAuthHeaders(headers);
    if (timeout) headers.set('x-server-timeout', String(Math.ceil(timeout / 1000)));
    const signals = [abortSignal, timeout ? AbortSignal.timeout(timeout) : undefined];
    const response = await (http.fetch ?? fetch)(url.href, {
      method: httpMethod,
      headers,
      body: mergeBody(body, extraBody),
      signal: AbortSignal.any(signals.filter((signal) => signal !== undefined)),
    });
    if (!response.ok) throw new ApiError({ message: await response.text(), status: response.status });
    return response;
  }

  /**
   * Returns the client's HTTP options merged with those of a request, which take precedence; headers and fields of the
   * body are merged one by one.
   */
  #with(options: HttpOptions = {}) {
    const http = this.#http;
    return {
      ...http,
      ...options,
      headers: { ...http.headers, ...options.headers },
      extraBody: { ...http.extraBody, ...options.extraBody },
    };
  }
}

/** @param location undefined for a key that identifies its project */
function vertexOrigin(location = 'global'): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com';
  if (location === 'us' || location === 'eu') return `https://aiplatform.${location}.rep.googleapis.com`;
  return `https://${location}-aiplatform.googleapis.com`;
}

async function* pieces({ headers, body }: Response): AsyncGenerator<ApiResponse, void, void> {
  if (!body) return;
  const shared = Object.fromEntries(headers);
  for await (const text of readServerSentJson(body)) yield { headers: shared, json: async () => readPiece(text) };
}

/**
 * @throws ApiError for an error that is reported during a stream
 * @throws SyntaxError for a frame that is not JSON
 */
function readPiece(text: string): unknown {
  const piece = JSON.parse(text) as { readonly error?: { readonly code?: unknown } | null } | null;
  const status = Number(piece?.error?.code);
  if (status >= 400 && status < 600) throw new ApiError({ message: text, status });
  return piece;
}

type JsonBody = Record<string, unknown>;

/** Returns a JSON body with additional fields. Objects that are in both are merged; of other values the additional one is used. */
function mergeBody(body: string, extra: JsonBody): string {
  return Object.keys(extra).length === 0 ? body : JSON.stringify(merge(JSON.parse(body) as JsonBody, extra));
}

function merge(own: JsonBody, extra: JsonBody): JsonBody {
  const merged = { ...own };
  for (const [name, value] of Object.entries(extra)) {
    const known = Object.hasOwn(own, name) ? own[name] : undefined;
    setOwn(merged, name, isRecord(known) && isRecord(value) ? merge(known, value) : value);
  }
  return merged;
}

/** The ends of events that the service and proxies send. */
const END_OF_EVENT = /\r\n\r\n|\n\n|\r\r/;
/** Number of characters of the longest end that may be in an earlier chunk. */
const MAX_BEGUN_END = 3;

/**
 * Yields the JSON of each event of a stream, in order. A body that is JSON and not a stream, such as an error with status 200, is one
 * event.
 * @throws TypeError for a stream that ends within an event, and what reading throws
 */
export async function* readServerSentJson(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  // A long event comes in many chunks: only `tail` is searched again with the next one.
  let searched: string[] = [];
  let tail = '';
  for await (const bytes of body) {
    const events = (tail + decoder.decode(bytes, { stream: true })).split(END_OF_EVENT);
    const last = events.pop() ?? '';
    for (const event of events) {
      const text = [...searched, event].join('').trim();
      searched = [];
      if (text.startsWith('data:')) yield text.slice('data:'.length);
    }
    searched.push(last.slice(0, -MAX_BEGUN_END));
    tail = last.slice(-MAX_BEGUN_END);
  }
  const rest = [...searched, tail].join('').trim();
  if (rest.startsWith('{')) yield rest;
  else if (rest !== '') throw new TypeError('Incomplete JSON segment at the end');
}
