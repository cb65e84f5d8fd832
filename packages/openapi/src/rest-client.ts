import { toError } from '@eventloom/core';
import { joinBytes } from '@eventloom/core/internal';
import { AddressRefusedError, openPublicUrl } from '@eventloom/tools/internal';
import { ApiCallError } from './errors.ts';

/** Limits of the requests of a toolset. */
interface RestClientOptions {
  /** Hosts that requests may reach, with their ports. */
  readonly allowedHosts: ReadonlySet<string>;
  /** True allows addresses of this machine and of internal networks. */
  readonly allowsPrivateNetwork: boolean;
  readonly maxBytes: number;
  /** Maximum time for a response with all redirects, in milliseconds. */
  readonly timeoutMs: number;
}

/** A request to an API. */
interface RestRequest {
  readonly method: string;
  readonly url: string;
  /** The headers; their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** False returns the response with a redirect. Default: true. */
  readonly followsRedirects?: boolean | undefined;
}

/** The response of an API, read up to the limit. */
export interface RestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True if the body is longer than the limit; the rest was not read. */
  readonly isTruncated: boolean;
}

const MAX_REDIRECTS = 5;
/** Headers that another origin may get, because they contain no secrets. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type']);

/** Sends requests to the allowed hosts. Internal addresses must be allowed explicitly. */
export class RestClient {
  readonly #options: RestClientOptions;

  constructor(options: RestClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request and follows redirects to allowed hosts. As with `fetch`, the next request is a GET without the body
   * after 303, and after 301 and 302 of a POST. Another origin gets no headers that may hold secrets.
   *
   * @throws ApiCallError for a host that is not allowed or not public, for too many redirects, and for a host that
   * cannot be reached in time
   */
  async send(request: RestRequest, abortSignal: AbortSignal): Promise<RestResponse> {
    const { timeoutMs } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#follow(request, AbortSignal.any([abortSignal, timeout]));
    } catch (error) {
      if (abortSignal.aborted || ApiCallError.isInstance(error)) throw error;
      if (AddressRefusedError.isInstance(error))
        throw new ApiCallError(
          `${error.message}; for an API on this machine or an internal network write allowPrivateNetworkAccess: true in the options of OpenAPIToolset`,
          { cause: error },
        );
      const reason = timeout.aborted ? `did not answer in ${timeoutMs} ms` : `cannot be reached: ${reasonOf(error)}`;
      throw new ApiCallError(`${new URL(request.url).host} ${reason}`, { cause: error });
    }
  }

  async #follow(request: RestRequest, signal: AbortSignal): Promise<RestResponse> {
    let next = request;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      this.#checkHost(next.url, redirects > 0);
      const response = await this.#open(next, signal);
      const location = response.headers.get('location');
      if (request.followsRedirects === false || !REDIRECTS.has(response.status) || location === null)
        return this.#read(response);
      await response.body?.cancel();
      if (!URL.canParse(location, next.url)) throw new ApiCallError('the API redirects to something that is not a URL');
      next = redirected(next, new URL(location, next.url), response.status);
    }
    throw new ApiCallError(`the API redirects more than ${MAX_REDIRECTS} times`);
  }

  #checkHost(url: string, isRedirect: boolean): void {
    const { host, protocol, username, password } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new ApiCallError(`the URL of the API has the scheme ${protocol}; expected http: or https:`);
    if (username !== '' || password !== '')
      throw new ApiCallError(
        'the URL of the API has a user or a password; write authScheme and authCredential instead',
      );
    if (!this.#options.allowedHosts.has(host))
      throw new ApiCallError(
        `${isRedirect ? 'the API redirects to ' : ''}${host}, which is not one of the allowed hosts; to allow it, write allowedHosts: ['${host}'] in the options of OpenAPIToolset`,
      );
  }

  #open({ method, url, headers, body }: RestRequest, signal: AbortSignal): Promise<Response> {
    return this.#options.allowsPrivateNetwork
      ? fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal })
      : openPublicUrl(url, signal, { method, headers, body });
  }

  async #read(response: Response): Promise<RestResponse> {
    const { maxBytes } = this.#options;
    const pieces: Uint8Array[] = [];
    let size = 0;
    // Leaving the loop cancels the body, which closes the connection.
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      size += piece.length;
      if (size > maxBytes) break;
    }
    return {
      status: response.status,
      headers: response.headers,
      bytes: joinBytes(pieces).subarray(0, maxBytes),
      isTruncated: size > maxBytes,
    };
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirected({ method, url, headers, body }: RestRequest, to: URL, status: number): RestRequest {
  const from = new URL(url);
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new ApiCallError('the API redirects from https: to http:');
  const isGet = (status === 303 && method !== 'HEAD') || (status <= 302 && method === 'POST');
  const kept = Object.entries(headers).filter(
    ([name]) => (from.origin === to.origin || PLAIN_HEADERS.has(name)) && !(isGet && name === 'content-type'),
  );
  return {
    method: isGet ? 'GET' : method,
    url: to.href,
    headers: Object.fromEntries(kept),
    body: isGet ? undefined : body,
  };
}

/** Returns the reason of a failed request, which `fetch` puts into the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = toError(error);
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
