import {
  Client,
  type CreateMessageRequestParams,
  type CreateMessageResult,
  InsufficientScopeError,
  type JsonSchemaValidatorResult,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  type StandardSchemaV1,
  type Transport,
} from '@modelcontextprotocol/client';
import type { Platform, TraceHeaders } from '@eventloom/core';
import { describeKind, isRecord, reportTo, within } from '@eventloom/core/internal';
import type { MCPConnectionParams, OpenTransport, TransportHost } from './connection-params.ts';
import { MCPLimitError, MCPProtocolError } from './errors.ts';
import { ActiveCalls } from './active-calls.ts';
import { isConnectionBroken, isSessionForgotten, isSocketLost, toMCPError } from './connection-failures.ts';
import { EXCHANGE_HEADER } from './http-transport.ts';
import { sample } from './sampling.ts';
import { plainText } from './server-tools.ts';
import type { UserAuthorization } from './user-authorization.ts';

/** Maximum number of tools that a server may list. */
const MAX_LISTED = 5000;
/** Maximum number of pages of a list. */
const MAX_PAGES = 100;
/** Time for which a list is used if the server neither says how long nor reports changes. */
const LIST_AGE_MS = 300_000;
/** Maximum time for which a list is used, whatever the server says. */
const MAX_LIST_AGE_MS = 3_600_000;
/** Maximum length of the text of a progress message, in characters. */
const MAX_PROGRESS = 4096;
/** Maximum time for the answer to one call. */
const MAX_CALL_MS = 3_600_000;

/** The toolset that a connection belongs to. */
interface MCPConnectionOwner {
  readonly name: string;
  readonly params: MCPConnectionParams;
  readonly platform: Platform;
  /** True lets the server use the model of the agent that calls it. */
  readonly allowsSampling: boolean;
  /** True lets the server ask the person questions. */
  readonly allowsElicitation: boolean;
  /** Called when the server reports that its tools have changed. */
  toolsChanged(): void;
}

/** Options of a request. */
interface SendOptions {
  /** True if sending the request twice has the same effect as sending it once. */
  readonly isRepeatable: boolean;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives the progress messages of the server. */
  readonly onProgress?: ((progress: object) => void) | undefined;
  /** The trace that the server continues. */
  readonly traceHeaders?: TraceHeaders | undefined;
}

/** Sends one request. */
export type MCPRequest<T> = (
  session: MCPSession,
  sent: {
    readonly options: RequestOptions;
    /** Fields for the request's params, which ask for progress messages and name the trace. */
    readonly meta: { readonly _meta?: Record<string, string> };
  },
) => Promise<T>;

/** A connected client of `@modelcontextprotocol/client`, and the requests that it waits for. */
export interface MCPSession {
  readonly client: Client;
  readonly transport: OpenTransport;
  /** Number of requests that wait for their answers. */
  pending: number;
  isDropped: boolean;
}

interface ToolList {
  /** The tools as the server sent them. */
  readonly tools: readonly unknown[];
  readonly session: MCPSession;
  readonly watch: number | undefined;
  readonly expiresAtMs: number;
}

/**
 * The connection of one user to one MCP server. It connects at its first use, and again after the server forgot the session or the
 * connection broke. It serves any number of requests concurrently.
 */
export class MCPConnection {
  readonly #owner: MCPConnectionOwner;
  readonly #headers: () => Readonly<Record<string, string>>;
  /** The calls that wait for the server, which may send requests of its own meanwhile. */
  readonly calls = new ActiveCalls();
  #opening: Promise<MCPSession> | undefined;
  #session: MCPSession | undefined;
  #listed: Promise<ToolList> | undefined;
  /** Receivers of progress messages, by the token of their requests. */
  readonly #progress = new Map<unknown, (progress: object) => void>();
  #exchanges = 0;
  #waiting = 0;
  /** True once the server ended the connection at the request for its protocol version, or did not answer it. */
  #isLegacy = false;

  /** The authorization of the user, for toolsets that ask for it. */
  authorization: UserAuthorization | undefined;

  constructor(owner: MCPConnectionOwner, headers: () => Readonly<Record<string, string>>) {
    this.#owner = owner;
    this.#headers = headers;
  }

  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /** True if the connected server speaks revision 2026-07-28 of the protocol or a later one. */
  get isOfRevision2026(): boolean {
    return this.#session?.client.getProtocolEra() === 'modern';
  }

  /** Returns true if the connected server offers something beside tools. */
  has(what: 'resources' | 'prompts'): boolean {
    return this.#session?.client.getServerCapabilities()?.[what] !== undefined;
  }

  /**
   * Lists the server's tools. Returns the stored list as long as the tools cannot have changed.
   * @throws MCPConnectionError, MCPProtocolError, MCPLimitError
   */
  async listTools(): Promise<readonly unknown[]> {
    this.#session?.transport.resume();
    const known = await this.#listed?.catch(() => undefined);
    if (known && this.#isFresh(known)) return known.tools;
    const listing = this.#listTools();
    this.#listed = listing;
    try {
      return (await listing).tools;
    } catch (error) {
      if (this.#listed === listing) this.#listed = undefined;
      throw error;
    }
  }

  #isFresh({ session, watch, expiresAtMs }: ToolList): boolean {
    if (session !== this.#session) return false;
    if (session.client.getServerCapabilities()?.tools?.listChanged !== true) return this.#now < expiresAtMs;
    return watch !== undefined && session.transport.watch === watch;
  }

  get #now(): number {
    return this.#owner.platform.now();
  }

  async #listTools(): Promise<ToolList> {
    const { timeoutMs } = this.#owner.params;
    let cursor: string | undefined;
    const tools: unknown[] = [];
    let ageMs = LIST_AGE_MS;
    let session: MCPSession | undefined;
    let watch: number | undefined;
    for (let page = 0; ; page++) {
      if (page === MAX_PAGES || tools.length > MAX_LISTED)
        throw new MCPLimitError(
          `MCP server "${this.#owner.name}": lists more than ${MAX_LISTED} tools, or in more than ${MAX_PAGES} pages`,
        );
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.send(
        async (sent, { options }) => {
          if (page === 0) [session, watch] = [sent, sent.transport.watch];
          if (!sent.client.getServerCapabilities()?.tools) return NO_TOOLS;
          return sent.client.request({ method: 'tools/list', params }, TOOL_PAGE, options);
        },
        { isRepeatable: true, timeoutMs },
      );
      for (const tool of result.tools) tools.push(tool);
      if (result.ttlMs !== undefined) ageMs = Math.min(result.ttlMs, MAX_LIST_AGE_MS);
      if (result.nextCursor === undefined || result.nextCursor === cursor) break;
      cursor = result.nextCursor;
    }
    if (!session) throw new MCPProtocolError(`MCP server "${this.#owner.name}": listed no tools`);
    return { tools, session, watch, expiresAtMs: this.#now + ageMs };
  }

  /**
   * Sends a request and returns the answer. If the server forgot the session, it did not process the request, which is
   * sent again in a new session. If the connection broke, the request is sent again only if it is repeatable.
   * @throws MCPConnectionError, MCPProtocolError, MCPLimitError, and the signal's reason
   */
  async send<T>(request: MCPRequest<T>, options: SendOptions): Promise<T> {
    this.#waiting++;
    let isWidened = false;
    try {
      for (let attempt = 0; ; attempt++) {
        const session = await this.#connect();
        try {
          return await this.#exchange(session, request, options);
        } catch (error) {
          options.signal?.throwIfAborted();
          if (InsufficientScopeError.isInstance(error) && this.authorization && !isWidened) {
            isWidened = true;
            await this.#widen(this.authorization, error);
            continue;
          }
          const isForgotten = isSessionForgotten(error, session);
          const isBroken = isForgotten || isConnectionBroken(error);
          // A process that wrote a message over the limit was ended: the next request needs another process.
          if (isBroken || session.transport.failure) this.#drop(session);
          if (attempt > 0 || !(isForgotten || (isBroken && options.isRepeatable)))
            throw toMCPError(error, this.#owner, options);
        }
      }
    } finally {
      this.#waiting--;
    }
  }

  /** Requests a wider authorization. The server refused the request, so it can be sent again. */
  async #widen(authorization: UserAuthorization, missing: InsufficientScopeError): Promise<void> {
    await authorization.widen(missing).catch((error: unknown) => {
      throw toMCPError(error, this.#owner);
    });
  }

  /** Sends a request in a session, and abandons it as soon as its answer can no longer arrive. */
  async #exchange<T>(
    session: MCPSession,
    request: MCPRequest<T>,
    { signal, timeoutMs, onProgress, traceHeaders = {} }: SendOptions,
  ): Promise<T> {
    signal?.throwIfAborted();
    const { platform } = this.#owner;
    const { transport } = session;
    session.pending++;
    const exchange = String(this.#exchanges++);
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    const expire = (): void => controller.abort(new SdkError(SdkErrorCode.RequestTimeout, 'no answer in time'));
    signal?.addEventListener('abort', abort, { once: true });
    let cancelTimer = platform.schedule(timeoutMs, expire);
    transport.onBrokenExchange(exchange, (reason) =>
      controller.abort(
        MCPLimitError.isInstance(reason)
          ? reason
          : new SdkError(SdkErrorCode.ConnectionClosed, 'the server ended its response without an answer'),
      ),
    );
    if (onProgress)
      this.#progress.set(exchange, (progress) => {
        cancelTimer();
        cancelTimer = platform.schedule(timeoutMs, expire);
        onProgress(progress);
      });
    try {
      return await request(session, {
        options: {
          signal: controller.signal,
          timeout: MAX_CALL_MS,
          headers: { ...traceHeaders, [EXCHANGE_HEADER]: exchange },
        },
        meta: { _meta: { ...traceHeaders, ...(onProgress && { progressToken: exchange }) } },
      });
    } catch (error) {
      if (MCPLimitError.isInstance(controller.signal.reason)) throw controller.signal.reason;
      throw isConnectionBroken(error) && transport.failure ? transport.failure : error;
    } finally {
      session.pending--;
      if (session.isDropped) this.#closeUnused(session);
      cancelTimer();
      this.#progress.delete(exchange);
      signal?.removeEventListener('abort', abort);
      transport.endExchange(exchange);
    }
  }

  #connect(): Promise<MCPSession> {
    this.#session?.transport.resume();
    this.#opening ??= this.#open().then(
      (session) => (this.#session = session),
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /**
   * Opens a session. Falls back to the handshake before 2026-07-28 if the server does not answer the request for its version. Retries once
   * if an idle socket was lost, because opening has no effect on the server.
   */
  async #open(): Promise<MCPSession> {
    const { params, platform } = this.#owner;
    const endsAtMs = platform.now() + params.timeoutMs;
    const wasLegacy = this.#isLegacy;
    for (let hasLost = false; ;) {
      const isLegacy = this.#isLegacy;
      try {
        return await this.#tryToOpen(Math.max(1, endsAtMs - platform.now()));
      } catch (error) {
        if (this.#isLegacy !== isLegacy) continue;
        if (!hasLost && isSocketLost(error)) {
          hasLost = true;
          continue;
        }
        // An unreachable server says nothing about its version.
        this.#isLegacy = wasLegacy;
        throw toMCPError(error, this.#owner);
      }
    }
  }

  /** Opens a session. Sets `#isLegacy` if the server does not answer the request for its protocol version. */
  async #tryToOpen(timeoutMs: number): Promise<MCPSession> {
    const { params, platform } = this.#owner;
    const transport = params['~open'](this.#host());
    const client = this.#createClient();
    let isLate = false;
    try {
      const connecting = client.connect(toTransport(transport.transport), {
        timeout: timeoutMs,
        ...(this.#isLegacy && { prior: { kind: 'legacy' } }),
      });
      await within(platform, connecting, timeoutMs, () => {
        isLate = true;
        throw new SdkError(SdkErrorCode.RequestTimeout, `not connected after ${timeoutMs} ms`);
      });
      const session: MCPSession = { client, transport, pending: 0, isDropped: false };
      client.onclose = () => this.#drop(session);
      return session;
    } catch (error) {
      const { failure = error } = transport;
      await client.close().catch((second: unknown) => reportTo(platform, second));
      const isUnknown = SdkError.isInstance(error) && PROBE_CODES.has(error.code) && !isSocketLost(error);
      if (isUnknown && !isLate && !MCPLimitError.isInstance(failure)) this.#isLegacy = true;
      throw failure;
    }
  }

  #host(): TransportHost {
    const { platform } = this.#owner;
    const isBusy = (): boolean => this.#waiting > 0;
    const { authorization } = this;
    return {
      platform,
      authProvider: authorization,
      withProofs: authorization && ((fetch) => authorization.withProofs(fetch)),
      headers: () => this.#headers(),
      get isBusy() {
        return isBusy();
      },
    };
  }

  #createClient(): Client {
    const { params, allowsSampling, allowsElicitation } = this.#owner;
    const client = new Client(
      { name: 'eventloom', version: '1.0.0' },
      {
        capabilities: {
          ...(allowsSampling && { sampling: {} }),
          ...(allowsElicitation && { elicitation: { form: {}, url: {} } }),
        },
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.ceil(params.timeoutMs / 2) } },
        jsonSchemaValidator: ACCEPT_ALL,
      },
    );
    if (allowsElicitation)
      client.setRequestHandler('elicitation/create', ({ params: question }, { mcpReq }) =>
        this.calls.answerTo(question, mcpReq.signal, this.#owner.platform),
      );
    if (allowsSampling)
      client.setRequestHandler('sampling/createMessage', ({ params: request }) => this.#sample(request));
    // Replaces the client's own handler, which drops a message that arrives together with the answer.
    client.setNotificationHandler('notifications/progress', ({ params: { progressToken, progress, total, message } }) =>
      this.#progress.get(progressToken)?.({
        progress,
        total,
        ...(message !== undefined && { message: plainText(message, MAX_PROGRESS) }),
      }),
    );
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      this.#listed = undefined;
      this.#owner.toolsChanged();
    });
    return client;
  }

  /** Answers a server's request for a reply of the model that does not come with the result of a call. */
  #sample(request: CreateMessageRequestParams): Promise<CreateMessageResult> {
    const call = this.calls.sampling;
    if (call) return sample(request, call.toolContext);
    return Promise.reject(
      new ProtocolError(ProtocolErrorCode.InvalidRequest, 'the model is available during calls of one run only'),
    );
  }

  /** Removes a session that has ended. */
  #drop(session: MCPSession): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#opening = undefined;
    session.isDropped = true;
    this.#closeUnused(session);
  }

  /**
   * Closes a removed session once none of its requests waits. Closing earlier would end requests whose answers say whether they were
   * processed.
   */
  #closeUnused(session: MCPSession): void {
    if (session.pending === 0) session.client.close().catch((error: unknown) => reportTo(this.#owner.platform, error));
  }

  /** Lets the process end while no run is active. */
  suspend(): void {
    this.#session?.transport.suspend();
  }

  /** Ends the connection. The next use connects again. */
  async close(): Promise<void> {
    const session = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    this.#session = undefined;
    this.#listed = undefined;
    if (!session) return;
    await session.transport.terminate();
    await session.client.close();
  }
}

/** Codes of the client library for a server that does not answer the request for its protocol version. */
const PROBE_CODES: ReadonlySet<string> = new Set([SdkErrorCode.EraNegotiationFailed, SdkErrorCode.RequestTimeout]);

/** A page of a server's list of tools. */
interface ToolPage {
  readonly tools: readonly unknown[];
  readonly nextCursor?: string | undefined;
  /** Time for which the list may be used. */
  readonly ttlMs?: number | undefined;
}

const NO_TOOLS: ToolPage = { tools: [] };

/** Reads a page, but not its tools: they are checked one by one, so that an invalid one does not exclude the others. */
const TOOL_PAGE: StandardSchemaV1<unknown, ToolPage> = {
  '~standard': {
    version: 1,
    vendor: 'eventloom',
    validate: (value) => {
      const { tools, nextCursor, ttlMs } = isRecord(value) ? value : {};
      if (!Array.isArray(tools)) return { issues: [{ message: `tools: expected a list, got ${describeKind(tools)}` }] };
      return {
        value: {
          tools,
          nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
          ttlMs: typeof ttlMs === 'number' ? ttlMs : undefined,
        },
      };
    },
  },
};

/** Accepts all structured content: a server's schemas are not applied, because their patterns can take unlimited time. */
const ACCEPT_ALL: jsonSchemaValidator = {
  getValidator:
    <T>() =>
    (input: unknown): JsonSchemaValidatorResult<T> => ({ valid: true, data: input as T, errorMessage: undefined }),
};

function toTransport(transport: object): Transport {
  if (!isTransport(transport))
    throw new MCPProtocolError(
      'connectionParams: expected a transport from "~open"; write connectionParams: new StreamableHTTPConnectionParams({ url })',
    );
  return transport;
}

function isTransport(value: object): value is Transport {
  return 'start' in value && 'send' in value && 'close' in value;
}
