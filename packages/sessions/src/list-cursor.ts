import { InvalidRequestError } from '@eventloom/core';
import type { SessionPosition } from './session-driver.ts';

/** A position as opaque text that is safe in a URL. */
export function writeCursor({ updatedAtMs, sessionId, userId }: SessionPosition): string {
  const bytes = new TextEncoder().encode(JSON.stringify([updatedAtMs, sessionId, userId]));
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The position that `writeCursor` wrote. @throws InvalidRequestError for anything else */
export function readCursor(cursor: string): SessionPosition {
  const position = decode(cursor);
  if (!position || writeCursor(position) !== cursor) {
    throw new InvalidRequestError('cursor: is not one that a listing gave; start again without one');
  }
  return position;
}

function decode(cursor: string): SessionPosition | undefined {
  try {
    const text = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (!Array.isArray(value) || value.length !== 3) return undefined;
    const [updatedAtMs, sessionId, userId] = value as unknown[];
    if (typeof updatedAtMs !== 'number' || typeof sessionId !== 'string' || typeof userId !== 'string')
      return undefined;
    return { updatedAtMs, sessionId, userId };
  } catch {
    return undefined;
  }
}
