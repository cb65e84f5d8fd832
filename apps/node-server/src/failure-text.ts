import { inspect } from 'node:util';
import { EventloomError, toError } from '@eventloom/core';

/** What somebody's own code threw is behind these, and where is what they need to know. */
const CODES_OF_OWN_CODE: readonly string[] = ['AGENT', 'NODE'];

/** What is printed of a failure: of one that was foreseen a line with its code, of any other one where it was thrown too. */
export function failureText(error: unknown): string {
  if (!EventloomError.isInstance(error)) return inspect(error);
  const { code, message, cause } = error;
  const line = `${code}: ${message}`;
  if (cause === undefined) return line;
  if (CODES_OF_OWN_CODE.includes(code)) return `${line}\n  because of ${failureText(cause)}`;
  const reason = toError(cause).message;
  return message.includes(reason) ? line : `${line}: ${reason}`;
}
