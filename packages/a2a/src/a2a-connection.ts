import { EventloomError, type Platform, toError } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { isDeeperThan } from '@eventloom/core/wire';
import { createParser } from 'eventsource-parser';
import { AGENT_CARD_PATH, type A2AEndpoint, readEndpoint } from './agent-card.ts';
import { A2AConnectionError, A2ALimitError, A2AProtocolError } from './errors.ts';
import { type A2ASendRequest, type A2AUpdate, readUpdate, toLegacyMessage } from './wire.ts';

/** The deepest nesting of JSON of a server. Deeper values would overflow the stack of a recursive reader. */
const MAX_DEPTH = 256;
/** Maximum number of characters of a server's text in an error message. */
const MAX_QUOTED = 500;
/** Maximum number of bytes that are read of the body of a refusal. */
const MAX_REFUSAL_BYTES = 64 * 1024;

interface A2AConnectionOptions {
  /** Prefix of error messages: names the agent. */
  readonly owner: string;
  /** Names the server of an address in the messages of errors. */
  readonly describe: (url: string) => string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Time without a byte from the server after which a request fails, in milliseconds. */
  readonly timeoutMs: number;
  /** Maximum size of one response, in bytes. */
  readonly maxResponseBytes: number;
}

/** Parts of the run that sends a request. */
export interface A2ARequestContext {
  readonly platform: Platform;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

/** Sends requests to one A2A server. Every failure is an error with a code that names the agent and the address. */
export class A2AConnection {
  readonly #options: A2AConnectionOptions;

  constructor(options: A2AConnectionOptions) {
    this.#options = options;
  }

  /**
   * Fetches a card.
   * @param address the address of the card if it ends with `.json`, otherwise that of the agent, below which the card is
   */
  async fetchEndpoint(address: string, context: A2ARequestContext): Promise<A2AEndpoint> {
    const url = cardAddress(address);
    const headers = { accept: 'application/json', 'a2a-version': '1.0', ...context.headers };
    return this.#request(url, { headers }, context, async (response, call) => {
      checkType(response, 'application/json');
      const endpoint = readEndpoint(parseJson(await call.text(response)));
      // The headers of the application may have its password.
      if (new URL(endpoint.url).origin !== new URL(url).origin)
        throw new A2AProtocolError(
          `the card names an address of another origin, ${withoutQuery(endpoint.url).slice(0, MAX_QUOTED)}; to use that address, pass the card itself as agentCard`,
        );
      return endpoint;
    });
  }

  /** Sends a message, and yields the response: the items of the stream, or the one result. */
  async *send(
    endpoint: A2AEndpoint,
    { message, configuration }: A2ASendRequest,
    context: A2ARequestContext,
  ): AsyncGenerator<A2AUpdate, void, undefined> {
    const isNew = endpoint.version === '1.0';
    const methods = isNew ? ['SendStreamingMessage', 'SendMessage'] : ['message/stream', 'message/send'];
    const params = {
      message: isNew ? message : toLegacyMessage(message),
      ...(isNew ? configuration && { configuration } : { configuration: { blocking: true, ...configuration } }),
      ...tenantOf(endpoint),
    };
    yield* this.#responses(endpoint, methods[endpoint.isStreaming ? 0 : 1] ?? '', params, context);
  }

  /** Sends a request, and yields the items of its stream, or its one result. */
  async *#responses(
    endpoint: A2AEndpoint,
    method: string,
    params: object,
    context: A2ARequestContext,
  ): AsyncGenerator<A2AUpdate, void, undefined> {
    const { url, isStreaming } = endpoint;
    const call = new PendingCall(this.#options, context);
    try {
      const accept = isStreaming ? 'text/event-stream' : 'application/json';
      const response = await call.fetch(url, rpcInit(method, params, endpoint, accept, context));
      if (isStreaming && typeOf(response) === 'text/event-stream') {
        for await (const data of call.events(response)) yield readResult(data);
        return;
      }
      checkType(response, 'application/json', isStreaming ? 'text/event-stream' : undefined);
      yield readResult(await call.text(response));
    } catch (error) {
      throw this.#failure(url, error, call.failure);
    } finally {
      call.end();
    }
  }

  /**
   * Continues to read a task: yields the items of its stream, or the task as it is if the server has no stream for it, or an empty one.
   */
  async *follow(
    endpoint: A2AEndpoint,
    taskId: string,
    context: A2ARequestContext,
  ): AsyncGenerator<A2AUpdate, void, undefined> {
    const isNew = endpoint.version === '1.0';
    const params = { id: taskId, ...tenantOf(endpoint) };
    if (endpoint.isStreaming) {
      let isEmpty = true;
      try {
        const method = isNew ? 'SubscribeToTask' : 'tasks/resubscribe';
        for await (const update of this.#responses(endpoint, method, params, context)) {
          isEmpty = false;
          yield update;
        }
        if (!isEmpty) return;
      } catch (error) {
        // The task has ended, or cannot be subscribed to.
        if (!A2AProtocolError.isInstance(error)) throw error;
      }
    }
    yield* this.#responses({ ...endpoint, isStreaming: false }, isNew ? 'GetTask' : 'tasks/get', params, context);
  }

  /** Yields the items of `items`. Adds the agent and the address to an error that `items` throws. */
  *named<T>(url: string, items: Iterable<T>): Generator<T, void, void> {
    try {
      yield* items;
    } catch (error) {
      throw this.#failure(url, error, undefined);
    }
  }

  /** Asks the server to cancel a task. */
  async cancel(endpoint: A2AEndpoint, taskId: string, context: A2ARequestContext): Promise<void> {
    const method = endpoint.version === '1.0' ? 'CancelTask' : 'tasks/cancel';
    const params = { id: taskId, ...tenantOf(endpoint) };
    const init = rpcInit(method, params, endpoint, 'application/json', context);
    await this.#request(
      endpoint.url,
      init,
      context,
      async (response, call) => void readResult(await call.text(response)),
    );
  }

  async #request<T>(
    url: string,
    init: RequestInit,
    context: A2ARequestContext,
    read: (response: Response, call: PendingCall) => Promise<T>,
  ): Promise<T> {
    const call = new PendingCall(this.#options, context);
    try {
      return await read(await call.fetch(url, init), call);
    } catch (error) {
      throw this.#failure(url, error, call.failure);
    } finally {
      call.end();
    }
  }

  /** Returns the error of a failed request, which names the agent and the address. */
  #failure(url: string, error: unknown, failure: Error | undefined): Error {
    const cause = failure ?? toError(error);
    const { owner, describe } = this.#options;
    const where = `${owner}: ${describe(url)}: `;
    if (A2AProtocolError.isInstance(cause)) return new A2AProtocolError(where + cause.message, { cause });
    if (A2ALimitError.isInstance(cause)) return new A2ALimitError(where + cause.message, { cause });
    if (A2AConnectionError.isInstance(cause)) {
      const named = new A2AConnectionError(where + cause.message, { cause, retryable: cause.retryable });
      if (failure) silent.add(named);
      return named;
    }
    if (EventloomError.isInstance(cause) || cause.name === 'AbortError') return cause;
    const { cause: reason } = cause;
    const detail = reason instanceof Error ? `${cause.message}: ${reason.message}` : cause.message;
    return new A2AConnectionError(`${where}the request failed: ${detail}`, { cause });
  }
}

/** Errors of servers that sent nothing for too long. */
const silent = new WeakSet<Error>();

/** True for an error after which another request may get the rest of the response: the connection was lost, or the server is busy. */
export function isLostResponse(error: unknown): error is A2AConnectionError {
  return A2AConnectionError.isInstance(error) && error.retryable && !silent.has(error);
}

function tenantOf({ tenant }: A2AEndpoint): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant };
}

/** One request and the body of its response, which end at the time-out, at the size limit and with the run. */
class PendingCall {
  /** The reason for which this call ended its request. */
  failure: Error | undefined;
  readonly #controller = new AbortController();
  readonly #options: A2AConnectionOptions;
  readonly #context: A2ARequestContext;
  readonly #onAbort = (): void => this.#controller.abort(this.#context.signal?.reason);
  #bytes = 0;

  constructor(options: A2AConnectionOptions, context: A2ARequestContext) {
    this.#options = options;
    this.#context = context;
    if (context.signal?.aborted === true) this.#onAbort();
    else context.signal?.addEventListener('abort', this.#onAbort);
  }

  /** Sends the request. @throws A2AConnectionError and A2AProtocolError for a status other than 2xx */
  async fetch(url: string, init: RequestInit): Promise<Response> {
    const { signal } = this.#controller;
    const response = await this.#inTime(this.#options.fetch(url, { ...init, redirect: 'manual', signal }));
    const { status } = response;
    if (status >= 200 && status < 300) return response;
    if (status >= 300 && status < 400) {
      const to = withoutQuery(response.headers.get('location') ?? 'nowhere').slice(0, MAX_QUOTED);
      throw new A2AProtocolError(
        `the server redirects to ${to}; redirects are not followed; write that address as agentCard if it is right`,
      );
    }
    const reason = await this.#reasonOf(response);
    if (status === 429 || status >= 500)
      throw new A2AConnectionError(`the server answered with the status ${status}${reason}`);
    if (status === 401 || status === 403)
      throw new A2AConnectionError(
        `the server refused the request with the status ${status}${reason}; write the credential that it requires in headers`,
        {
          retryable: false,
        },
      );
    throw new A2AProtocolError(`the server answered with the status ${status}${reason}`);
  }

  /** Returns the reason in the body of a refusal, to append to an error message; empty if the body cannot be read. */
  async #reasonOf(response: Response): Promise<string> {
    if (!isJson(typeOf(response))) return '';
    try {
      const body: unknown = JSON.parse(await this.text(response, MAX_REFUSAL_BYTES));
      const { error } = isRecord(body) ? body : {};
      const message = isRecord(error) ? error['message'] : error;
      return typeof message === 'string' ? `: ${message.slice(0, MAX_QUOTED)}` : '';
    } catch (error) {
      if (this.failure ?? this.#controller.signal.aborted) throw error;
      return '';
    }
  }

  /** Returns the text of a body. */
  async text(response: Response, maxBytes: number = this.#options.maxResponseBytes): Promise<string> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of this.#chunks(response, maxBytes)) text += decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  }

  /** Yields the data of the server-sent events of a body. */
  async *events(response: Response): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let events: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => void events.push(data) });
    for await (const chunk of this.#chunks(response, this.#options.maxResponseBytes)) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      const complete = events;
      events = [];
      yield* complete;
    }
  }

  async *#chunks(response: Response, maxBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = response.body?.getReader();
    if (!reader) return;
    try {
      for (let next = await this.#inTime(reader.read()); !next.done; next = await this.#inTime(reader.read())) {
        this.#bytes += next.value.byteLength;
        if (this.#bytes > maxBytes)
          throw new A2ALimitError(
            `the response has more than ${maxBytes} bytes; write a larger maxResponseBytes to read it`,
          );
        yield next.value;
      }
    } finally {
      // A no-op for a body that was read to its end. The read has reported any other failure.
      reader.cancel().catch(() => undefined);
    }
  }

  /** Waits for the server for at most the time-out, and until the run is aborted. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#context.platform.schedule(timeoutMs, () => {
      this.failure = new A2AConnectionError(`the server sent nothing for ${timeoutMs / 1000} s`);
      reject(this.failure);
    });
    const { signal } = this.#controller;
    const onAbort = (): void => reject(toError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    try {
      return await Promise.race([work, promise]);
    } finally {
      cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the request, and the body that was not read to its end. */
  end(): void {
    this.#context.signal?.removeEventListener('abort', this.#onAbort);
    this.#controller.abort();
  }
}

/** Returns an address without its query, which may have a key. */
export function withoutQuery(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

function rpcInit(
  method: string,
  params: object,
  { version }: A2AEndpoint,
  accept: string,
  { headers, platform }: A2ARequestContext,
): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, 'a2a-version': version, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: platform.newUuid(), method, params }),
  };
}

function cardAddress(address: string): string {
  const url = new URL(address);
  if (url.pathname.endsWith('.json')) return url.href;
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return new URL(AGENT_CARD_PATH, url).href;
}

function typeOf({ headers }: Response): string {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
}

function isJson(type: string): boolean {
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'));
}

function checkType(response: Response, ...types: readonly (string | undefined)[]): void {
  const type = typeOf(response);
  if (type === types[0] || isJson(type)) return;
  const wanted = types.filter((each) => each !== undefined).join(' or ');
  throw new A2AProtocolError(`expected ${wanted}, got ${type === '' ? 'no content type' : type.slice(0, MAX_QUOTED)}`);
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new A2AProtocolError('the server sent text that is not JSON', { cause });
  }
  if (isDeeperThan(MAX_DEPTH, value))
    throw new A2AProtocolError(`the server sent JSON that is nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

/** Reads a response of JSON-RPC. @throws A2AProtocolError for an error, and for a body that is not a JSON-RPC response */
function readResult(text: string): A2AUpdate {
  const response = parseJson(text);
  if (!isRecord(response)) throw new A2AProtocolError('the server sent JSON that is not a JSON-RPC response');
  const { error, result } = response;
  if (isRecord(error)) {
    const { code, message } = error;
    const reason = typeof message === 'string' ? message : JSON.stringify(message ?? 'no reason given');
    throw new A2AProtocolError(
      `the server refused the request: ${reason.slice(0, MAX_QUOTED)} (${JSON.stringify(code)})`,
    );
  }
  return readUpdate('result', result);
}
