import { InvalidRequestError } from '@eventloom/core';
import { decodeCursor, encodeCursor } from './cursor-text.ts';
import type { SessionPosition } from './session-driver.ts';

/** A position as the cursor of a listing. */
export function writeCursor({ updatedAtMs, sessionId, userId }: SessionPosition): string {
  return encodeCursor([updatedAtMs, sessionId, userId]);
}

/** The position that `writeCursor` wrote. @throws InvalidRequestError for anything else */
export function readCursor(cursor: string): SessionPosition {
  const [updatedAtMs, sessionId, userId, more] = decodeCursor(cursor) ?? [];
  if (
    typeof updatedAtMs === 'number' &&
    typeof sessionId === 'string' &&
    typeof userId === 'string' &&
    more === undefined
  ) {
    return { updatedAtMs, sessionId, userId };
  }
  throw new InvalidRequestError('cursor: is not one that a listing gave; start again without one');
}
