import { describeKind } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';

const MAX_NAME_BYTES = 256;
const encoder = new TextEncoder();

/**
 * Checks a name or id that is stored: text, not empty, without NUL, well-formed Unicode, at most `maxBytes` long in UTF-8.
 * @throws InvalidRequestError that names the field
 */
export function checkName(field: string, value: unknown, maxBytes: number = MAX_NAME_BYTES): void {
  const fault = nameFault(value, maxBytes);
  if (fault !== undefined) throw new InvalidRequestError(`${field}: ${fault}`);
}

/** Returns the reason for which a name cannot be stored; undefined if it can. */
export function nameFault(value: unknown, maxBytes: number = MAX_NAME_BYTES): string | undefined {
  if (typeof value !== 'string') return `expected a string, got ${describeKind(value)}`;
  if (value === '') return 'is empty';
  if (value.includes('\0')) return 'holds a NUL character';
  if (!value.isWellFormed()) return 'is not well-formed Unicode';
  if (value.length * 3 > maxBytes && encoder.encode(value).length > maxBytes) return `is longer than ${maxBytes} bytes`;
  return undefined;
}
