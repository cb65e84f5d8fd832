// For Node. Other runtimes load built-in/web/open-public-url.ts instead: see `imports` in package.json.
import { type LookupAddress, type LookupOptions, promises as dns } from 'node:dns';
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { addAbortSignal, Readable } from 'node:stream';
import { checkPublicUrl, isPublicAddress, type PublicRequest } from '../built-in/public-address.ts';
import { AddressRefusedError } from '../errors.ts';

type LookupDone = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves a name to its addresses. */
export type Resolve = (hostname: string, options: LookupOptions) => Promise<LookupAddress[]>;

const resolveName: Resolve = (hostname, options) => dns.lookup(hostname, { ...options, all: true });

/**
 * Sends requests to hosts of the public internet. It connects to the checked address, so a name that later resolves to another address is
 * no risk.
 */
export class PublicClient {
  readonly #resolve: Resolve;
  readonly #isPublic: (address: string) => boolean;
  /** Agents of this client only, because the global ones may use a proxy, which would resolve names without the check. */
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent };

  /** @param resolve resolver of names @param isPublic check of each address */
  constructor(resolve: Resolve = resolveName, isPublic: (address: string) => boolean = isPublicAddress) {
    this.#resolve = resolve;
    this.#isPublic = isPublic;
    const find = (hostname: string, options: LookupOptions, done: LookupDone): void => {
      this.#find(hostname, options).then(
        (addresses) => {
          const [first] = addresses;
          return options.all === true ? done(null, addresses) : done(null, first?.address ?? '', first?.family);
        },
        (error: Error) => done(error, []),
      );
    };
    this.#agents = { http: new HttpAgent({ lookup: find }), https: new HttpsAgent({ lookup: find }) };
  }

  /** Sends a request, without following redirects. @throws AddressRefusedError for a host that is not public */
  async open(
    url: string,
    signal: AbortSignal,
    { method = 'GET', headers, body }: PublicRequest = {},
  ): Promise<Response> {
    const target = checkPublicUrl(url);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const options = {
      method,
      headers: {
        accept: 'text/html, text/*;q=0.9, */*;q=0.1',
        ...headers,
        ...(body && { 'content-length': body.length }),
        'accept-encoding': 'identity',
      },
      signal,
    };
    const request =
      target.protocol === 'http:'
        ? requestHttp(target, { ...options, agent: this.#agents.http })
        : requestHttps(target, { ...options, agent: this.#agents.https });
    request.once('response', resolve).once('error', reject);
    // Without this listener Node closes the connection after status 101, and reports neither a response nor an error.
    request.once('upgrade', ({ statusCode }, socket) => {
      socket.destroy();
      reject(new TypeError(`it answered with HTTP status ${statusCode}`));
    });
    request.end(body);
    // When the signal aborts the request, Node ends the body as if it were complete, unless it has a declared length.
    return toResponse(addAbortSignal(signal, await promise));
  }

  /** Rejects for a URL whose host is not public, or resolves to an address that is not. @throws AddressRefusedError */
  async check(url: string): Promise<void> {
    const { hostname } = checkPublicUrl(url);
    // `checkPublicUrl` has checked an address.
    if (!hostname.startsWith('[')) await this.#find(hostname, {});
  }

  /**
   * Returns the addresses of a name if all of them are public.
   *
   * @throws AddressRefusedError
   */
  async #find(hostname: string, options: LookupOptions): Promise<LookupAddress[]> {
    const addresses = await this.#resolve(hostname, options);
    if (addresses.length > 0 && addresses.every(({ address }) => this.#isPublic(address))) return addresses;
    throw new AddressRefusedError(`the host ${hostname} is not public`);
  }
}

const CLIENT: PublicClient = new PublicClient();

/** Sends a request to a host of the public internet, without following redirects. */
export function openPublicUrl(url: string, signal: AbortSignal, request?: PublicRequest): Promise<Response> {
  return CLIENT.open(url, signal, request);
}

/** Rejects for a URL whose host is not public, or resolves to an address that is not. @throws AddressRefusedError */
export function checkPublicHost(url: string): Promise<void> {
  return CLIENT.check(url);
}

/** Statuses whose responses have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(message: IncomingMessage): Response {
  const { statusCode = 500, headers } = message;
  // A `Response` takes no other status; some sites answer robots with 999.
  if (statusCode > 599) {
    message.destroy();
    throw new TypeError(`it answered with HTTP status ${statusCode}`);
  }
  const named = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, [value].flat().join(', ')]],
  );
  if (EMPTY.has(statusCode)) message.resume();
  const body = EMPTY.has(statusCode) ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array<ArrayBuffer>>);
  return new Response(body, { status: statusCode, headers: named });
}
