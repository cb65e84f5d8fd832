import { InvalidRequestError } from '../errors.ts';
import { describeKind } from './json.ts';

/** Bytes per call of `String.fromCharCode`; more arguments would overflow the stack. */
const CHUNK_BYTES = 0x2000;

/**
 * Encodes bytes as base64, in the standard alphabet with padding.
 * @throws InvalidRequestError for a value that is not a Uint8Array
 */
export function encodeBase64(bytes: Uint8Array): string {
  // The class may be that of another realm.
  if (!ArrayBuffer.isView(bytes))
    throw new InvalidRequestError(
      `encodeBase64: expected a Uint8Array, got ${describeKind(bytes)}; write encodeBase64(new TextEncoder().encode(text)) for a text`,
    );
  return toBase64(bytes);
}

function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    // Spreading the bytes takes seven times as long.
    binary += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(at, at + CHUNK_BYTES));
  }
  return btoa(binary);
}

/** Encodes bytes as base64 in the URL alphabet, without padding. */
export function encodeUrlBase64(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Decodes base64 text in the standard or the URL alphabet, with or without padding.
 * @throws InvalidRequestError for text that is not base64
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const digits = countDigits(text);
  const binary = toBinary(text.slice(0, digits));
  // `atob` ignores white space, so the length differs. A length is never negative.
  if (binary?.length !== Math.floor(digits * 0.75))
    throw new InvalidRequestError('decodeBase64: the text is not base64');
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** True for text that `decodeBase64` accepts. */
export function isBase64(text: string): boolean {
  const digits = countDigits(text);
  // Searches for an invalid character: a pattern of valid characters would keep a backtracking position for each character of a file.
  return digits >= 0 && text.search(/[^A-Za-z0-9+/_-]/) === (digits === text.length ? -1 : digits);
}

/** Returns how many of the characters must be digits, without the padding; -1 for a length that base64 never has. */
function countDigits(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.length - padding;
  return digits % 4 === 1 || (padding > 0 && digits % 4 === 0) ? -1 : digits;
}

function toBinary(digits: string): string | undefined {
  try {
    return atob(digits.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return undefined;
  }
}

/** Concatenates pieces of bytes into one array. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Characters that base64 in JSON may have and that services do not document: the URL alphabet, and white space. */
const FOREIGN: readonly string[] = ['-', '_', ' ', '\n', '\r', '\t', '\f', '\v'];

/**
 * Returns base64 as services document it: standard alphabet, padded, in one line. Text that has this form already is
 * returned unchanged.
 */
export function normaliseBase64(data: string): string {
  if (isPlain(data)) return data;
  const digits = data.replace(/[\s=]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}

/** Compares single characters, which is about fifty times as fast as a pattern: every piece of live audio is checked here. */
function isPlain(data: string): boolean {
  if (data.length % 4 !== 0) return false;
  const padding = data.indexOf('=');
  if (padding >= 0 && padding < data.length - (data.endsWith('==') ? 2 : 1)) return false;
  return FOREIGN.every((character) => !data.includes(character));
}
