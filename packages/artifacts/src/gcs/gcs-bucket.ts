import { ConfigurationError, type MaybePromise, type Platform, StorageError } from '@eventloom/core';
import { isRecord, joinBytes } from '@eventloom/core/internal';

/** An object of a bucket, without its body. */
export interface GcsObject {
  readonly name: string;
  /** Identifies this content of the object. A number with up to 19 digits. */
  readonly generation: string;
  readonly contentType: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds since the epoch. */
  readonly createTime: number;
}

/** A new object. */
export interface GcsWrite {
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The address and the credentials of a bucket. */
interface GcsBucketParams {
  readonly bucket: string;
  readonly accessToken: (() => MaybePromise<string>) | undefined;
  readonly endpoint: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Longest time of a request, in milliseconds. */
  readonly timeoutMs: number;
  readonly platform: Platform;
}

/** A request of the JSON API. */
interface GcsRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Statuses that are answers rather than errors, in addition to those of success. */
  readonly expected?: readonly number[];
}

const encoder = new TextEncoder();
const FIELDS = 'name,generation,contentType,metadata,timeCreated';
/** Statuses of a busy service, after which a request is repeated. A write is repeated only after 429, with which the service refused it. */
const BUSY = [429, 500, 502, 503, 504];
/** Delays between repeated requests, in milliseconds. */
const WAITS_MS: readonly number[] = [500, 1000, 2000, 4000];
/** Maximum number of characters that are kept of an error of the service. */
const MAX_ERROR_CHARS = 1000;

/** A bucket of Cloud Storage, over its JSON API. */
export class GcsBucket {
  readonly #params: GcsBucketParams;
  readonly #objects: string;

  constructor(params: GcsBucketParams) {
    this.#params = params;
    this.#objects = `/storage/v1/b/${encodeURIComponent(params.bucket)}/o`;
  }

  /** Lists the objects whose names begin with the prefix, in the order of their names. */
  async list(prefix: string): Promise<GcsObject[]> {
    const found: GcsObject[] = [];
    let pageToken: string | undefined;
    do {
      const fields = `items(${FIELDS}),nextPageToken`;
      const query = { prefix, fields, ...(pageToken === undefined ? {} : { pageToken }) };
      const page = await readJson(await this.#send({ method: 'GET', path: this.#objects, query }));
      const { items = [] } = page;
      if (!Array.isArray(items)) throw invalidAnswer();
      for (const item of items) found.push(toObject(item));
      pageToken = typeof page['nextPageToken'] === 'string' ? page['nextPageToken'] : undefined;
    } while (pageToken !== undefined);
    return found;
  }

  /** Returns an object without its body; undefined if it does not exist. */
  async stat(name: string): Promise<GcsObject | undefined> {
    const query = { fields: FIELDS };
    const response = await this.#send({ method: 'GET', path: this.#pathOf(name), query, expected: [404] });
    return response.status === 404 ? this.#absent(response) : toObject(await readJson(response));
  }

  /** Returns the body that an object had in this generation; undefined if it does not exist any more. */
  async read({ name, generation }: GcsObject): Promise<Uint8Array | undefined> {
    const query = { alt: 'media', generation };
    const response = await this.#send({ method: 'GET', path: this.#pathOf(name), query, expected: [404] });
    if (response.status === 404) return this.#absent(response);
    return new Uint8Array(await received(response.arrayBuffer()));
  }

  /**
   * Writes an object.
   * @param generation the generation that it replaces; `0`: it must not exist
   * @returns false if the object has another generation
   */
  async write(name: string, { contentType, metadata, body }: GcsWrite, generation: string): Promise<boolean> {
    const boundary = crypto.randomUUID();
    const described = JSON.stringify({ name, contentType, metadata });
    const head = `--${boundary}\r\ncontent-type: application/json; charset=utf-8\r\n\r\n${described}\r\n--${boundary}\r\ncontent-type: ${contentType}\r\n\r\n`;
    const response = await this.#send({
      method: 'POST',
      path: `/upload${this.#objects}`,
      query: { uploadType: 'multipart', ifGenerationMatch: generation, fields: 'name' },
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body: joinBytes([encoder.encode(head), body, encoder.encode(`\r\n--${boundary}--\r\n`)]),
      expected: [412],
    });
    await received(response.arrayBuffer());
    return response.status !== 412;
  }

  /** Deletes an object. An absent one is a no-op. */
  async delete(name: string): Promise<void> {
    const response = await this.#send({ method: 'DELETE', path: this.#pathOf(name), expected: [404] });
    if (response.status === 404) await this.#absent(response);
    else await received(response.arrayBuffer());
  }

  #pathOf(name: string): string {
    return `${this.#objects}/${encodeURIComponent(name)}`;
  }

  /** Reads the answer 404: an object is absent. @throws ConfigurationError if the bucket is */
  async #absent(response: Response): Promise<undefined> {
    const text = await errorIn(response);
    if (/bucket does not exist/i.test(text))
      throw new ConfigurationError(
        `GcsArtifactService: the bucket "${this.#params.bucket}" does not exist; create it, or correct the option bucket`,
      );
    return undefined;
  }

  /** Sends a request. @throws StorageError if the service cannot be reached, or refuses */
  async #send({ method, path, query = {}, headers, body, expected = [] }: GcsRequest): Promise<Response> {
    const { endpoint, accessToken, fetch, timeoutMs, platform } = this.#params;
    const url = `${endpoint}${path}?${new URLSearchParams(query).toString()}`;
    for (let attempt = 0; ; attempt++) {
      const token = await accessToken?.();
      const sent = { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
      const signal = AbortSignal.timeout(timeoutMs);
      const init: RequestInit = { method, headers: sent, redirect: 'manual', signal, ...(body && { body }) };
      const response = await received(fetch(url, init));
      if (response.ok || expected.includes(response.status)) return response;
      const waitMs = WAITS_MS[attempt];
      const isBusy = method === 'POST' ? response.status === 429 : BUSY.includes(response.status);
      const reason = new Error(`Cloud Storage answered ${response.status}: ${await errorIn(response)}`);
      if (!isBusy || waitMs === undefined)
        throw StorageError.of('the bucket of artifacts', reason, BUSY.includes(response.status));
      // The jitter keeps concurrent writers from meeting again.
      await new Promise<void>((resolve) => platform.schedule(waitMs * (0.5 + platform.random() / 2), resolve));
    }
  }
}

/** Waits for the network. @throws StorageError in place of the TypeError of `fetch`, which would count as an error of the program */
async function received<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw StorageError.of('the bucket of artifacts', error);
  }
}

async function errorIn(response: Response): Promise<string> {
  const text = (await received(response.text())).slice(0, MAX_ERROR_CHARS);
  return /"message": ?"(?<message>[^"]*)"/.exec(text)?.groups?.['message'] ?? text;
}

async function readJson(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const text = await received(response.text());
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch (cause) {
    throw invalidAnswer(cause);
  }
  throw invalidAnswer();
}

function toObject(value: unknown): GcsObject {
  if (!isRecord(value)) throw invalidAnswer();
  const { name, generation, contentType, metadata, timeCreated } = value;
  if (typeof name !== 'string' || (typeof generation !== 'string' && typeof generation !== 'number'))
    throw invalidAnswer();
  const entries = Object.entries(isRecord(metadata) ? metadata : {});
  return {
    name,
    generation: String(generation),
    contentType: typeof contentType === 'string' ? contentType : undefined,
    metadata: Object.fromEntries(entries.map(([key, each]) => [key, String(each)])),
    createTime: Date.parse(String(timeCreated)) / 1000 || 0,
  };
}

function invalidAnswer(cause?: unknown): StorageError {
  const reason = new Error('the answer is not one of Cloud Storage', { cause });
  return StorageError.of('the bucket of artifacts', reason, false);
}
