import { InvalidRequestError, type SessionKey } from '@eventloom/core';

const MAX_NAME_BYTES = 256;
const encoder = new TextEncoder();

/**
 * Checks the names that artifacts are stored under: text, not empty, without NUL, well-formed Unicode, at most 256 bytes.
 * @throws InvalidRequestError that names the field
 */
export function checkSessionKey(key: SessionKey): void {
  for (const field of ['appName', 'userId', 'sessionId'] as const) {
    const fault = findFault(key[field]);
    if (fault !== undefined) throw new InvalidRequestError(`${field}: ${fault}`);
  }
}

function findFault(name: unknown): string | undefined {
  if (typeof name !== 'string') return `must be text, is ${name === null ? 'null' : typeof name}`;
  if (name === '') return 'is empty';
  if (name.includes('\0')) return 'holds a NUL character';
  if (!name.isWellFormed()) return 'is not well-formed Unicode';
  if (encoder.encode(name).length > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  return undefined;
}
