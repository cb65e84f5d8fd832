import { describeKind, isRecord } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';

const MAX_NAME_BYTES = 256;
const encoder = new TextEncoder();

/** Examples of the ids that callers forget most often, shown by errors about an id that is missing or of a wrong kind. */
export const EXAMPLE_IDS: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ['appName', 'app'],
  ['userId', 'ada'],
  ['sessionId', 's1'],
]);

/**
 * Checks a name or id that is stored: text, not empty, without NUL, well-formed Unicode, at most `maxBytes` long in UTF-8.
 * @throws InvalidRequestError that names the field. For a value that is empty or not a string it also says what to write
 */
export function checkName(field: string, value: unknown, maxBytes: number = MAX_NAME_BYTES): void {
  const fault = nameFault(value, maxBytes);
  if (fault === undefined) return;
  const example = typeof value === 'string' && value !== '' ? undefined : EXAMPLE_IDS.get(field);
  const code = field === 'sessionId' && isRecord(value) ? 'session.id' : `'${example}'`;
  const write = example === undefined ? '; write another one' : `; write ${field}: ${code}`;
  throw new InvalidRequestError(`${field}: ${fault}${write}`);
}

/**
 * Checks that the one argument of a method is an object.
 * @param example code of a call, e.g. `searchMemory({ appName, userId, query })`, or of the argument alone
 * @throws InvalidRequestError
 */
export function checkArgument(example: string, value: unknown): void {
  if (isRecord(value)) return;
  const method = example.slice(0, example.indexOf('(') + 1).replace('(', ': ');
  throw new InvalidRequestError(`${method}expected one object, got ${describeKind(value)}; write ${example}`);
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
