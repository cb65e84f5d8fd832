import { InvalidRequestError, joinBytes, toError, isRecord } from '@eventloom/core';
import { isDeeperThan } from '@eventloom/core/wire';
import { BodyTooLargeError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';

/**
 * Parses a body as JSON; undefined for an empty one.
 * @throws InvalidRequestError for what is not JSON in UTF-8
 */
export function readJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  return text.trim() === '' ? undefined : parseJson('body', text);
}

/**
 * Reads the bytes of a body.
 * @throws BodyTooLargeError before the rest is read, InvalidRequestError for a body that breaks off
 */
export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return readAll(request, maxBytes).catch(brokenOff);
}

/** The transport fails if the client leaves or sends an invalid HTTP body. */
function brokenOff(cause: unknown): never {
  if (BodyTooLargeError.isInstance(cause)) throw cause;
  throw new InvalidRequestError('body: broke off before its end', { cause });
}

async function readAll(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const announced = request.headers.get('content-length');
  if (announced !== null) {
    // The HTTP server enforces the announced length.
    if (Number(announced) > maxBytes) throw tooLarge(maxBytes);
    return new Uint8Array(await request.arrayBuffer());
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const next = await reader?.read();
    if (!next || next.done) break;
    length += next.value.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(next.value);
  }
  const [only] = chunks;
  return chunks.length === 1 && only ? only : joinBytes(chunks);
}

function tooLarge(maxBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`body: is larger than the ${maxBytes} bytes that this server takes`);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new InvalidRequestError('body: is not UTF-8 text', { cause });
  }
}

/** The deepest nesting of JSON. Deeper values would overflow the stack of a recursive reader. */
const MAX_DEPTH = 256;

/**
 * Parses JSON text from a client.
 * @param what names the text in error messages
 * @throws InvalidRequestError if it is not JSON or nests too deep
 */
export function parseJson(what: string, text: string): unknown {
  const value = parse(what, text);
  if (isDeeperThan(MAX_DEPTH, value)) {
    throw new InvalidRequestError(`${what}: is nested deeper than ${MAX_DEPTH} levels`);
  }
  return value;
}

function parse(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError(`${what}: is not JSON: ${toError(cause).message}`, { cause });
  }
}

/** The limits of the number of entries in a body. */
export type CountLimits = Pick<ServerLimits, 'maxBodyParts' | 'maxBodyEvents' | 'maxBodyKeys'>;

/** The limit of each field of a body, in either spelling; undefined for fields that contain such fields. */
const COUNTED: Readonly<Record<string, keyof CountLimits | undefined>> = {
  newMessage: undefined,
  new_message: undefined,
  content: undefined,
  actions: undefined,
  parts: 'maxBodyParts',
  events: 'maxBodyEvents',
  state: 'maxBodyKeys',
  stateDelta: 'maxBodyKeys',
  state_delta: 'maxBodyKeys',
  removedState: 'maxBodyKeys',
  removed_state: 'maxBodyKeys',
};

/**
 * Counts the entries of a body before they are read: a small body may have very many.
 * @throws BodyTooLargeError for more entries than the limits allow
 */
export function checkCounts(body: unknown, limits: CountLimits, path = ''): void {
  if (!isRecord(body)) return;
  for (const [name, limit] of Object.entries(COUNTED)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (typeof value !== 'object' || value === null) continue;
    const at = path + name;
    if (limit === undefined) checkCounts(value, limits, `${at}.`);
    else if (Object.keys(value).length > limits[limit])
      throw new BodyTooLargeError(
        `${at}: has more than ${limits[limit]} entries, which is limits.${limit} of this server`,
      );
    if (name === 'events' && Array.isArray(value))
      for (const [index, event] of value.entries()) checkCounts(event, limits, `${at}[${index}].`);
  }
}
