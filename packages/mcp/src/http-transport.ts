import { within } from '@eventloom/core/internal';
import {
  type AuthProvider,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { OpenTransport, TransportHost } from './connection-params.ts';
import { limitBody } from './limit-body.ts';

/** The header by which a request to `HttpTransport` names its exchange. It is not sent. */
export const EXCHANGE_HEADER = 'eventloom-exchange';

/**
 * Time between the end of a response and the report that it had no answer. An answer in the same body is read first, but the streams in
 * between may deliver it a little later.
 */
const BROKEN_AFTER_MS = 1000;

interface HttpTransportOptions {
  readonly url: URL;
  readonly maxMessageBytes: number;
  readonly terminateOnClose: boolean;
  /** Time for the server to answer that it has deleted the session, in milliseconds. */
  readonly terminateMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly authProvider: object | undefined;
  readonly host: TransportHost;
}

/** One request that waits for its answer, and the HTTP request that carries it. */
interface Exchange {
  readonly controller: AbortController;
  broken?: (reason: unknown) => void;
  cancelReport?: () => void;
}

/**
 * The HTTP transport of a connection. It wraps the client library's transport: it limits the size of messages, sends headers to the
 * server's origin only, reports responses that end without an answer, and ends streams that would keep the process alive.
 */
export class HttpTransport implements OpenTransport {
  readonly transport: StreamableHTTPClientTransport;
  readonly #options: HttpTransportOptions;
  readonly #exchanges = new Map<string, Exchange>();
  /** The requests that wait for messages of the server outside of calls. */
  readonly #listening = new Set<AbortController>();
  #isSuspended = false;
  /** True if the server has offered a stream for messages outside of calls. */
  #offersStream = false;
  /** Number of times that a stream began or ended. */
  #changes = 0;
  #openStreams = 0;

  constructor(options: HttpTransportOptions) {
    const { url, host, authProvider } = options;
    this.#options = options;
    this.transport = new StreamableHTTPClientTransport(url, {
      fetch: (to, init) => this.#fetch(to, init),
      ...(isAuthProvider(authProvider) && { authProvider }),
      reconnectionScheduler: (reconnect, delayMs) =>
        this.#isSuspended ? undefined : host.platform.schedule(delayMs, reconnect, { idle: true }),
    });
  }

  get watch(): number | undefined {
    return this.#openStreams > 0 ? this.#changes : undefined;
  }

  suspend(): void {
    if (this.#isSuspended || this.#options.host.isBusy) return;
    this.#isSuspended = true;
    for (const controller of this.#listening) controller.abort();
    for (const exchange of this.#exchanges.keys()) this.endExchange(exchange);
  }

  resume(): void {
    if (!this.#isSuspended) return;
    this.#isSuspended = false;
    // The connection works without the stream: lists are then read again in every turn.
    if (this.#offersStream) this.transport.resumeStream('').catch(() => undefined);
  }

  onBrokenExchange(exchange: string, broken: (reason: unknown) => void): void {
    this.#exchange(exchange).broken = broken;
  }

  endExchange(name: string): void {
    const exchange = this.#exchanges.get(name);
    if (!exchange) return;
    this.#exchanges.delete(name);
    exchange.cancelReport?.();
    exchange.controller.abort();
  }

  async terminate(): Promise<void> {
    const { terminateOnClose, terminateMs, host } = this.#options;
    if (!terminateOnClose) return;
    // Servers need not support the deletion, and may not answer; the session then expires on the server.
    const ended = this.transport.terminateSession().catch(() => undefined);
    await within(host.platform, ended, terminateMs);
  }

  #exchange(name: string): Exchange {
    let exchange = this.#exchanges.get(name);
    if (!exchange) this.#exchanges.set(name, (exchange = { controller: new AbortController() }));
    return exchange;
  }

  async #fetch(to: string | URL, init: RequestInit = {}): Promise<Response> {
    const { url, fetch } = this.#options;
    const headers = new Headers(init.headers);
    const name = headers.get(EXCHANGE_HEADER);
    headers.delete(EXCHANGE_HEADER);
    const isOfServer = new URL(to).origin === url.origin;
    if (isOfServer) {
      const own = { ...this.#options.headers, ...this.#options.host.headers() };
      for (const [key, value] of Object.entries(own)) if (!headers.has(key)) headers.set(key, value);
    }
    if (isOfServer && init.method === 'GET' && headers.get('accept')?.includes('text/event-stream'))
      return this.#listen(to, { ...init, headers });
    const exchange = name === null ? undefined : this.#exchange(name);
    const signal = exchange ? anyOf(init.signal, exchange.controller.signal) : init.signal;
    const response = await fetch(to, { ...init, headers, ...(signal && { signal }) });
    return limitBody(response, this.#options.maxMessageBytes, (reason) => this.#bodyEnded(exchange, reason));
  }

  /** Opens a stream for messages outside of calls. While the transport is suspended, answers like a server without such streams. */
  async #listen(to: string | URL, init: RequestInit): Promise<Response> {
    if (this.#isSuspended) return new Response(null, { status: 405 });
    const controller = new AbortController();
    this.#listening.add(controller);
    try {
      const response = await this.#options.fetch(to, { ...init, signal: anyOf(init.signal, controller.signal) });
      if (!response.ok || !response.body) {
        this.#listening.delete(controller);
        return limitBody(response, this.#options.maxMessageBytes, () => undefined);
      }
      this.#offersStream = true;
      this.#openStreams++;
      this.#changes++;
      return limitBody(response, this.#options.maxMessageBytes, () => {
        if (!this.#listening.delete(controller)) return;
        this.#openStreams--;
        this.#changes++;
      });
    } catch (error) {
      this.#listening.delete(controller);
      throw error;
    }
  }

  #bodyEnded(exchange: Exchange | undefined, reason: unknown): void {
    if (!exchange || exchange.controller.signal.aborted) return;
    const report = (): void => exchange.broken?.(reason);
    if (reason !== undefined) report();
    else exchange.cancelReport = this.#options.host.platform.schedule(BROKEN_AFTER_MS, report);
  }
}

function anyOf(one: AbortSignal | null | undefined, other: AbortSignal): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}

/** True for a provider of tokens. Its other methods are checked where the client uses them. */
export function isAuthProvider(value: object | undefined): value is AuthProvider | OAuthClientProvider {
  if (value === undefined) return false;
  const { token, tokens } = value as { readonly token?: unknown; readonly tokens?: unknown };
  return typeof token === 'function' || typeof tokens === 'function';
}
