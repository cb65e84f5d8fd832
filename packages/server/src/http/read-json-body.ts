import { InvalidRequestError, joinBytes } from '@eventloom/core';
import { BodyTooLargeError } from '../errors.ts';
import { parseJson } from './parse-json.ts';

/**
 * A body as JSON; undefined when there is none.
 * @throws InvalidRequestError for what is not JSON in UTF-8
 */
export function readJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  return text.trim() === '' ? undefined : parseJson('body', text);
}

/**
 * The bytes of a body.
 * @throws BodyTooLargeError without reading on, InvalidRequestError for a body that has no end
 */
export function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return readAll(request, maxBytes).catch(brokenOff);
}

/** What the transport throws says that the sender went away, or that it sent something that is no HTTP body. */
function brokenOff(cause: unknown): never {
  if (BodyTooLargeError.isInstance(cause)) throw cause;
  throw new InvalidRequestError('body: broke off before its end', { cause });
}

async function readAll(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const announced = request.headers.get('content-length');
  if (announced !== null) {
    // What carries HTTP holds the sender to the length that it announced.
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
