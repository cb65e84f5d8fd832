import { ConfigurationError, type Platform } from '@eventloom/core';
import { checkOptions, integer, type OptionRules, wrongOption } from '@eventloom/core/internal';
import { AddressRefusedError, checkPublicHost, checkPublicUrl, openPublicUrl } from '@eventloom/tools/internal';
import { HttpTransport, isAuthProvider } from './http-transport.ts';
import { limitBody } from './limit-body.ts';

/** Options of both kinds of connections. */
export interface MCPConnectionOptions {
  /** Time limit for connecting, and for each answer to a request other than a call, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Time limit for the answer to a tool call, in milliseconds. Each progress message of the server restarts the time, up to one hour a
   * call. Default 300,000.
   */
  readonly callTimeoutMs?: number | undefined;
  /** Maximum size of one message of the server, in bytes. Default 16 MiB: 10 MiB of media as base64, and text. */
  readonly maxMessageBytes?: number | undefined;
}

/** Maximum time that closing a connection waits for the server. */
const MAX_TERMINATE_MS = 2000;

type FetchOfParams = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** The part of a connection that its transport calls. Not for applications. */
export interface TransportHost {
  readonly platform: Platform;
  /** Returns the headers of HTTP requests to the server, in addition to those of the connection's params. */
  headers(): Readonly<Record<string, string>>;
  /** Adds the user's token to HTTP requests. Absent if they need none. */
  readonly authProvider?: object | undefined;
  /** Returns a `fetch` that proves possession of the key that the user's token is bound to. Absent if tokens are bound to no key. */
  readonly withProofs?: ((fetch: FetchOfParams) => FetchOfParams) | undefined;
  /** True while calls wait for an answer. */
  readonly isBusy: boolean;
}

/** An open transport of `@modelcontextprotocol/client`, with further methods for the connection. Not for applications. */
export interface OpenTransport {
  /** The transport itself. Its type is left out, because its declarations need those of Node. */
  readonly transport: object;
  /**
   * A number that changes when a message about changed lists may have been missed; undefined while the server cannot send such messages.
   */
  readonly watch: number | undefined;
  /** The reason why the connection ended, if the transport knows a better one than the client library. */
  readonly failure?: Error | undefined;
  /** Lets the process end while no run is active. The transport stays open. */
  suspend(): void;
  /** Keeps the process alive again, after `suspend`. */
  resume(): void;
  /** Aborts the remaining parts of a request that was answered or abandoned, and returns the error that ended it, if any. */
  endExchange(exchange: string): void;
  /** Calls `broken` if the server ended the response to the request without an answer, so that none can arrive. */
  onBrokenExchange(exchange: string, broken: (reason: unknown) => void): void;
  /** Tells the server that its session ends. Resolves also if the server refuses. */
  terminate(): Promise<void>;
}

const CONNECTION_TIME = integer(1, 2_147_483_647);
/** Rules for the options of every connection. */
export const CONNECTION_OPTIONS: OptionRules<MCPConnectionOptions> = {
  timeoutMs: CONNECTION_TIME,
  callTimeoutMs: CONNECTION_TIME,
  maxMessageBytes: CONNECTION_TIME,
};

/**
 * Base of the params of a connection to an MCP server: `StreamableHTTPConnectionParams`, and `StdioConnectionParams` of
 * `@eventloom/mcp/node`.
 */
export abstract class MCPConnectionParams {
  readonly timeoutMs: number;
  readonly callTimeoutMs: number;
  readonly maxMessageBytes: number;

  constructor({ timeoutMs = 30_000, callTimeoutMs = 300_000, maxMessageBytes = 16_777_216 }: MCPConnectionOptions) {
    this.timeoutMs = timeoutMs;
    this.callTimeoutMs = callTimeoutMs;
    this.maxMessageBytes = maxMessageBytes;
  }

  /** The server's name, if the toolset has none. */
  abstract get serverName(): string;

  /** The server's address for error messages, without secrets. */
  abstract get address(): string;

  /** Creates a transport that is not started yet. */
  abstract '~open'(host: TransportHost): OpenTransport;
}

/** Options of `StreamableHTTPConnectionParams`. */
export interface StreamableHTTPConnectionOptions extends MCPConnectionOptions {
  /** Address of the server's MCP endpoint, `https://` or `http://`. */
  readonly url: string | URL;
  /**
   * Headers of every request to the server, such as an API key. They are sent to the server's origin only, and appear
   * in no event, log or error.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * An OAuth provider of `@modelcontextprotocol/client` with the application's own authorization, for all users:
   * `ClientCredentialsProvider`, `PrivateKeyJwtProvider`, `CrossAppAccessProvider`, or `{ token: async () => … }`. For
   * the consent of each user write `authCredential` of the toolset.
   */
  readonly authProvider?: object | undefined;
  /** True tells the server that its session ends when the connection is closed. Default true. */
  readonly terminateOnClose?: boolean | undefined;
  /**
   * Sends the requests. Default: the global `fetch`, and for other hosts that a public server names, such as its authorization server, a
   * client that connects to public addresses only. Before your own function gets the address of such a host, the host's name is resolved,
   * and the request is refused if the name leads to an internal network. On Workers only the name is checked.
   */
  readonly fetch?: ((url: string | URL, init?: RequestInit) => Promise<Response>) | undefined;
}

const AUTH_PROVIDER = 'new ClientCredentialsProvider({ … })';
const HTTP_OPTIONS: OptionRules<StreamableHTTPConnectionOptions> = {
  url: { is: 'text or object', wanted: 'an address', write: "'https://mcp.example.com/mcp'" },
  headers: { is: 'object', write: "{ 'x-api-key': key }" },
  authProvider: { is: 'object', write: AUTH_PROVIDER },
  ...CONNECTION_OPTIONS,
  terminateOnClose: 'flag',
  fetch: 'function',
};

/** Maximum size of an answer of an authorization server. */
const MAX_METADATA_BYTES = 262_144;

const ADK_HINTS = {
  type: 'leave it out: the class says what it is',
  header: 'write headers',
  transportOptions: 'write headers or fetch',
  timeout: 'write timeoutMs',
  sseReadTimeout: 'write callTimeoutMs',
};

/**
 * The connection to an MCP server over HTTP ("Streamable HTTP"). Works on Node and on Workers. Redirects to another
 * origin are not followed.
 *
 * @example
 * const connectionParams = new StreamableHTTPConnectionParams({
 *   url: 'https://mcp.example.com/mcp',
 *   headers: { 'x-api-key': apiKey },
 * });
 */
export class StreamableHTTPConnectionParams extends MCPConnectionParams {
  readonly url: URL;
  readonly terminateOnClose: boolean;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: StreamableHTTPConnectionOptions['fetch'];
  readonly #isPublic: boolean;
  readonly #authProvider: object | undefined;

  /** @throws ConfigurationError for an address that is not HTTP, for invalid headers, and for an unknown option */
  constructor(options: StreamableHTTPConnectionOptions) {
    const owner = 'StreamableHTTPConnectionParams';
    checkOptions(owner, HTTP_OPTIONS, options, ADK_HINTS, "{ url: 'https://mcp.example.com/mcp' }");
    super(options);
    this.url = toUrl(owner, options.url);
    this.terminateOnClose = options.terminateOnClose ?? true;
    this.#headers = checkHeaders(owner, options.headers ?? {});
    this.#fetch = options.fetch;
    this.#isPublic = isPublic(this.url);
    this.#authProvider = options.authProvider;
    if (options.authProvider && !isAuthProvider(options.authProvider))
      throw wrongOption(
        owner,
        'authProvider',
        'an OAuth provider of @modelcontextprotocol/client',
        options.authProvider,
        AUTH_PROVIDER,
      );
  }

  override get serverName(): string {
    return this.url.hostname;
  }

  override get address(): string {
    return `${this.url.origin}${this.url.pathname}`;
  }

  override '~open'(host: TransportHost): OpenTransport {
    const { url, maxMessageBytes, terminateOnClose } = this;
    const send: FetchOfParams = (to, init) => this.#send(to, init);
    return new HttpTransport({
      url,
      maxMessageBytes,
      terminateOnClose,
      terminateMs: Math.min(this.timeoutMs, MAX_TERMINATE_MS),
      headers: this.#headers,
      fetch: host.withProofs?.(send) ?? send,
      authProvider: host.authProvider ?? this.#authProvider,
      host,
    });
  }

  /** Sends a request to an authorization server: without the headers for the MCP server, and without redirects. Not for applications. */
  async '~fetchMetadata'(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const signal = AbortSignal.timeout(this.timeoutMs);
    const response = await this.#send(url, { ...init, redirect: 'manual', signal });
    return limitBody(response, MAX_METADATA_BYTES, () => undefined);
  }

  /**
   * Sends a request to the server, or to an address that it names. Refuses an address of an internal network that a public server names:
   * this process can reach it, and the server cannot.
   * @throws AddressRefusedError
   */
  async #send(to: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(to);
    const isTrusted = url.origin === this.url.origin || !this.#isPublic;
    if (this.#fetch) {
      if (!isTrusted) await refuseInternalHost(url);
      return this.#fetch(to, init);
    }
    if (isTrusted) return fetch(to, init);
    const { method, headers, body, signal } = new Request(url, init);
    const bytes = body && new Uint8Array(await new Response(body).arrayBuffer());
    return openPublicUrl(url.href, signal, {
      method,
      headers: Object.fromEntries(headers),
      ...(bytes && { body: bytes }),
    });
  }
}

/**
 * Rejects for a host that is internal, or resolves to an internal address. Accepts a name that this machine cannot resolve, because the
 * application's own `fetch` may use a proxy.
 */
async function refuseInternalHost({ href }: URL): Promise<void> {
  checkPublicUrl(href);
  await checkPublicHost(href).catch((error: unknown) => {
    if (AddressRefusedError.isInstance(error)) throw error;
  });
}

function isPublic({ href }: URL): boolean {
  try {
    return checkPublicUrl(href) !== undefined;
  } catch (error) {
    if (AddressRefusedError.isInstance(error)) return false;
    throw error;
  }
}

function toUrl(owner: string, given: unknown): URL {
  const text = given instanceof URL ? given.href : given;
  if (typeof text !== 'string' || !URL.canParse(text))
    throw wrongOption(
      owner,
      'url',
      'an address that begins with https:// or http://',
      given,
      "'https://mcp.example.com/mcp'",
    );
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new ConfigurationError(
      `${owner}: url: expected an address that begins with https:// or http://, got one that begins with ${url.protocol.slice(0, 40)}; write url: 'http://localhost:3000/mcp'`,
    );
  if (url.username !== '' || url.password !== '')
    throw new ConfigurationError(
      `${owner}: url: has a user name or a password; remove them, and write headers: { authorization: '…' }`,
    );
  return url;
}

/** Returns a copy of the headers. @throws ConfigurationError that names the invalid header, but not its value */
export function checkHeaders(owner: string, given: unknown): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || given instanceof Headers)
    throw wrongOption(owner, 'headers', 'an object', given, "{ 'x-api-key': key }");
  for (const [name, value] of Object.entries(given)) {
    try {
      if (typeof value !== 'string') throw new TypeError('not a string');
      new Headers([[name, value]]);
    } catch {
      throw new ConfigurationError(
        `${owner}: headers: expected header names, and values of one line, got an invalid one at ${JSON.stringify(name.slice(0, 100))}; write headers: { 'x-api-key': key }`,
      );
    }
  }
  return { ...given };
}
