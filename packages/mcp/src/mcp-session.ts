import {
  Client,
  type CreateMessageRequestParams,
  type CreateMessageResult,
  type JsonSchemaValidatorResult,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  type Transport,
} from '@modelcontextprotocol/client';
import type { TraceHeaders } from '@eventloom/core';
import { reportTo, within } from '@eventloom/core/internal';
import type { OpenTransport, TransportHost } from './connection-params.ts';
import { MCPLimitError, MCPProtocolError } from './errors.ts';
import { isConnectionBroken, isSocketLost, toMCPError } from './connection-failures.ts';
import { EXCHANGE_HEADER } from './http-transport.ts';
import type { MCPConnection } from './mcp-connection.ts';
import { sample } from './sampling.ts';
import { plainText } from './server-tools.ts';

/** Maximum length of the text of a progress message, in characters. */
const MAX_PROGRESS = 4096;
/** Maximum time for the answer to one call. */
const MAX_CALL_MS = 3_600_000;

/** Options of a request. */
export interface SendOptions {
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

/**
 * A session with a server: one connected client of `@modelcontextprotocol/client`, and the requests that wait for their answers. It ends
 * with its transport, and its connection opens another one.
 */
export class MCPSession {
  readonly client: Client;
  readonly transport: OpenTransport;
  readonly #connection: MCPConnection;
  /** Receivers of progress messages, by the token of their requests. */
  readonly #progress = new Map<unknown, (progress: object) => void>();
  #exchanges = 0;
  /** Number of requests that wait for their answers. */
  #pending = 0;
  #isDropped = false;

  private constructor(connection: MCPConnection) {
    this.#connection = connection;
    this.transport = connection.owner.params['~open'](hostOf(connection));
    this.client = this.#createClient();
  }

  /**
   * Opens a session. Falls back to the handshake before 2026-07-28 if the server does not answer the request for its version. Retries once
   * if an idle socket was lost, because opening has no effect on the server.
   */
  static async open(connection: MCPConnection): Promise<MCPSession> {
    const { params, platform } = connection.owner;
    const endsAtMs = platform.now() + params.timeoutMs;
    const wasLegacy = connection.isLegacy;
    for (let hasLost = false; ;) {
      const { isLegacy } = connection;
      try {
        const session = new MCPSession(connection);
        await session.#connect(Math.max(1, endsAtMs - platform.now()));
        return session;
      } catch (error) {
        if (connection.isLegacy !== isLegacy) continue;
        if (!hasLost && isSocketLost(error)) {
          hasLost = true;
          continue;
        }
        // An unreachable server says nothing about its version.
        connection.isLegacy = wasLegacy;
        throw toMCPError(error, connection.owner);
      }
    }
  }

  /** Connects the client. Sets `isLegacy` of the connection if the server does not answer the request for its protocol version. */
  async #connect(timeoutMs: number): Promise<void> {
    const { client, transport } = this;
    const { platform } = this.#connection.owner;
    let isLate = false;
    try {
      const connecting = client.connect(toTransport(transport.transport), {
        timeout: timeoutMs,
        ...(this.#connection.isLegacy && { prior: { kind: 'legacy' } }),
      });
      await within(platform, connecting, timeoutMs, () => {
        isLate = true;
        throw new SdkError(SdkErrorCode.RequestTimeout, `not connected after ${timeoutMs} ms`);
      });
      client.onclose = () => this.#connection.drop(this);
    } catch (error) {
      const { failure = error } = transport;
      await client.close().catch((second: unknown) => reportTo(platform, second));
      const isUnknown = SdkError.isInstance(error) && PROBE_CODES.has(error.code) && !isSocketLost(error);
      if (isUnknown && !isLate && !MCPLimitError.isInstance(failure)) this.#connection.isLegacy = true;
      throw failure;
    }
  }

  #createClient(): Client {
    const { params, allowsSampling, allowsElicitation } = this.#connection.owner;
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
        this.#connection.calls.answerTo(question, mcpReq.signal, this.#connection.owner.platform),
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
    client.setNotificationHandler('notifications/tools/list_changed', () => this.#connection.forgetTools());
    return client;
  }

  /** Answers a server's request for a reply of the model that does not come with the result of a call. */
  #sample(request: CreateMessageRequestParams): Promise<CreateMessageResult> {
    const call = this.#connection.calls.sampling;
    if (call) return sample(request, call.toolContext);
    return Promise.reject(
      new ProtocolError(ProtocolErrorCode.InvalidRequest, 'the model is available during calls of one run only'),
    );
  }

  /** Sends a request, and abandons it as soon as its answer can no longer arrive. */
  async exchange<T>(
    request: MCPRequest<T>,
    { signal, timeoutMs, onProgress, traceHeaders = {} }: SendOptions,
  ): Promise<T> {
    signal?.throwIfAborted();
    const { platform } = this.#connection.owner;
    const { transport } = this;
    this.#pending++;
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
      return await request(this, {
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
      this.#pending--;
      if (this.#isDropped) this.#closeUnused();
      cancelTimer();
      this.#progress.delete(exchange);
      signal?.removeEventListener('abort', abort);
      transport.endExchange(exchange);
    }
  }

  /**
   * Closes the session once none of its requests waits. Closing earlier would end requests whose answers say whether they were processed.
   */
  drop(): void {
    this.#isDropped = true;
    this.#closeUnused();
  }

  #closeUnused(): void {
    if (this.#pending > 0) return;
    this.client.close().catch((error: unknown) => reportTo(this.#connection.owner.platform, error));
  }

  /** Tells the server that the session ends, and closes it. */
  async end(): Promise<void> {
    await this.transport.terminate();
    await this.client.close();
  }
}

/** Returns the part of a connection that its transport calls. */
function hostOf(connection: MCPConnection): TransportHost {
  const { authorization } = connection;
  return {
    platform: connection.owner.platform,
    authProvider: authorization,
    withProofs: authorization && ((fetch) => authorization.withProofs(fetch)),
    headers: () => connection.headers(),
    get isBusy() {
      return connection.isBusy;
    },
  };
}

/** Codes of the client library for a server that does not answer the request for its protocol version. */
const PROBE_CODES: ReadonlySet<string> = new Set([SdkErrorCode.EraNegotiationFailed, SdkErrorCode.RequestTimeout]);

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
