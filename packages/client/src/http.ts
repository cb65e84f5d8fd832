import { ConfigurationError } from '@eventloom/core';
import { ConnectionLostError, ServerError } from './errors.ts';

/** Options of an `EventloomClient`. */
export interface ClientOptions {
  /**
   * Address of the server, e.g. `https://agents.example`, or `https://example.com/agents` with a base path. In a browser also a path of
   * the page's own origin, e.g. `/agents`. Default in a browser: the origin of the page. Elsewhere required.
   */
  readonly baseUrl?: string;
  /**
   * Headers of every request, such as `authorization`. A function is called before each request, so that it can return a new token.
   * Default: none.
   */
  readonly headers?: Readonly<Record<string, string>> | (() => HeaderRecord | Promise<HeaderRecord>);
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Number and delays of attempts after a lost connection, or after an answer that asks to try later. Default: those of
   * `ReconnectOptions`.
   */
  readonly retry?: ReconnectOptions;
}

/** A request whose body is written as JSON. */
interface JsonRequest extends Omit<RequestInit, 'body' | 'headers'> {
  readonly json?: unknown;
  readonly headers?: HeaderRecord;
}

type HeaderRecord = Readonly<Record<string, string>>;

/** Delays before a lost connection is opened again, and the number of attempts. */
export interface ReconnectOptions {
  /** Maximum number of attempts in a row without an event. After the last one, iterating throws a ConnectionLostError. Default 12. */
  readonly attempts?: number;
  /**
   * Delay before the second attempt, in milliseconds; it doubles with each further attempt, less a random part of up to half. The first
   * attempt is made at once. Default 250.
   */
  readonly firstDelayMs?: number;
  /** Maximum delay in milliseconds. Default 10,000. A `Retry-After` of the server may be longer, up to a minute. */
  readonly maxDelayMs?: number;
  /**
   * Time without a byte, heartbeats of the server included, after which the connection to a run counts as lost, in milliseconds. Default
   * 45,000: three heartbeats of a server with default limits.
   */
  readonly idleMs?: number;
}

const MAX_RETRY_AFTER_MS = 60_000;

/** Sends requests to one server. */
export class HttpConnection {
  readonly #baseUrl: string | undefined;
  readonly #headers: NonNullable<ClientOptions['headers']>;
  readonly #fetch: NonNullable<ClientOptions['fetch']>;
  readonly retry: Required<ReconnectOptions>;

  /** @throws ConfigurationError */
  constructor(options: ClientOptions = {}) {
    const example = "new EventloomClient({ baseUrl: 'http://localhost:8000' })";
    checkOptions('EventloomClient', options, example, ['baseUrl', 'headers', 'fetch', 'retry']);
    const { baseUrl, headers = {}, fetch, retry = {} } = options;
    checkOptions('EventloomClient: retry', retry, 'retry: { attempts: 3 }', [
      'attempts',
      'firstDelayMs',
      'maxDelayMs',
      'idleMs',
    ]);
    this.#baseUrl = baseUrl;
    // A page that is rendered on a server has no origin there, and sends nothing.
    if (baseUrl && baseUrl[0] !== '/') serverAddress('EventloomClient', baseUrl);
    this.#headers = headers;
    // The fetch of browsers must be called without a `this`.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.retry = { attempts: 12, firstDelayMs: 250, maxDelayMs: 10_000, idleMs: 45_000, ...retry };
  }

  /** The address of the server. @throws ConfigurationError */
  get baseUrl(): string {
    return serverAddress('EventloomClient', this.#baseUrl);
  }

  /** Sends a request and returns the answer with any status. */
  async send(path: string, init: JsonRequest = {}): Promise<Response> {
    const { json, headers, ...rest } = init;
    const own = typeof this.#headers === 'function' ? await this.#headers() : this.#headers;
    const body = !!json && { body: JSON.stringify(json) };
    const type = body && { 'content-type': 'application/json' };
    return this.#fetch(this.baseUrl + path, { ...rest, ...body, headers: { ...own, ...type, ...headers } });
  }

  /** Sends a request and returns the answer if it is a success. @throws ServerError @throws ConnectionLostError */
  async request(path: string, init?: JsonRequest): Promise<Response> {
    const response = await this.send(path, init).catch((cause: unknown) => {
      throw new ConnectionLostError(`no answer from ${this.baseUrl}; is baseUrl an Eventloom server?`, { cause });
    });
    if (!response.ok) throw await toServerError(response);
    return response;
  }

  /** Sends a request and returns the JSON of the answer; undefined for an answer without content. @throws ServerError */
  async readJson<T>(path: string, init?: JsonRequest): Promise<T> {
    const response = await this.request(path, init);
    return (response.status === 204 ? undefined : await readBody(response)) as T;
  }

  /** Sends JSON and returns the JSON of the answer. @throws ServerError */
  postJson<T>(path: string, json: unknown): Promise<T> {
    return this.readJson(path, { method: 'POST', json });
  }

  /** Waits before an attempt. @param attempt number of attempts in a row that failed; 0 and 1 do not wait */
  async wait(attempt: number, retryAfterMs = 0, signal?: AbortSignal): Promise<void> {
    const { firstDelayMs, maxDelayMs } = this.retry;
    const delay = attempt <= 1 ? 0 : delayAfter(attempt - 1, firstDelayMs, maxDelayMs);
    await pause(Math.max(delay, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)), signal);
    signal?.throwIfAborted();
  }
}

/** Returns the delay after a number of failures in a row, less a random part of up to half. */
export function delayAfter(failures: number, firstDelayMs: number, maxDelayMs: number): number {
  return Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}

/** Resolves after this time, or when the signal fires. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms <= 0 || signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}

/** Returns the query of an address; empty without values. */
export function queryOf(values: object = {}): string {
  const given = Object.entries<string>({ ...values }).filter(([, value]) => value !== undefined);
  return given[0] ? `?${new URLSearchParams(given).toString()}` : '';
}

/** Returns a random id. Pages of plain http have no `crypto.randomUUID`. */
export function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/** Returns the address of a server without a slash at its end. @throws ConfigurationError */
export function serverAddress(caller: string, baseUrl = ''): string {
  const address = String(baseUrl).replace(/^(?=\/|$)/, `${globalThis.location?.origin}`);
  if (/^https?:\/\//.test(address)) return address.replace(/\/$/, '');
  throw wrongValue(`${caller}: baseUrl`, 'an address', baseUrl, "baseUrl: 'http://localhost:8000'");
}

/**
 * Checks options. The error for an unknown option suggests one that begins alike, or names all of them.
 * @param known the names of all options; the compiler refuses an incomplete list
 * @param example code of a valid call
 * @throws ConfigurationError
 */
export function checkOptions<T extends object, const Name extends keyof T & string>(
  caller: string,
  options: T,
  example: string,
  known: readonly Name[] & ([Exclude<keyof T, Name>] extends [never] ? unknown : never),
): void {
  if (!isRecord(options)) throw wrongValue(caller, 'an object', options, example);
  const names: readonly string[] = known;
  for (const name in options) {
    if (names.includes(name)) continue;
    const meant = names.find((option) => option.startsWith(name.slice(0, 3))) ?? names.join('", "');
    throw new ConfigurationError(`${caller}: has no option "${name}"; did you mean "${meant}"?`);
  }
}

export function wrongValue(place: string, wanted: string, value: unknown, example: string): ConfigurationError {
  return new ConfigurationError(`${place}: expected ${wanted}, got ${JSON.stringify(value)}; write ${example}`);
}

/**
 * Reads the JSON of an answer.
 * @throws ServerError for another text, such as the page of a server of files
 * @throws ConnectionLostError
 */
export async function readBody(response: Response): Promise<unknown> {
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch {
    throw new ServerError(notEventloom('JSON'), response);
  }
}

/** @throws ConnectionLostError if the connection is cut before the end of the body */
async function readText(response: Response): Promise<string> {
  return response.text().catch((cause: unknown) => {
    throw new ConnectionLostError('the answer ended early', { cause });
  });
}

/** Returns the message about an answer of a server that is not one of Eventloom. */
export function notEventloom(wanted: string): string {
  return `the server sent no ${wanted}; is baseUrl an Eventloom server?`;
}

/** Reads the error in an answer. */
export async function toServerError(response: Response): Promise<ServerError> {
  const { status } = response;
  const text = await readText(response);
  return (
    errorIn(text, status) ?? new ServerError(`the server sent ${status}: ${text || response.statusText}`, response)
  );
}

/** Returns the error in a JSON text; undefined if it has none. */
export function errorIn(json: string, status = 200): ServerError | undefined {
  const { error, code } = parseRecord(json) ?? {};
  if (typeof error !== 'string') return undefined;
  return new ServerError(error, { status, serverCode: textOf(code) });
}

/** Returns the object in a JSON text; undefined for other texts. */
export function parseRecord(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return !!value && typeof value === 'object' && !Array.isArray(value);
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined;
}

/** Returns a text that is not empty; undefined for other values. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value || undefined : undefined;
}
