import { inspect } from 'node:util';
import { EventloomError } from '@eventloom/core';

/** What is printed of a failure: of one that was foreseen its code and message, of any other one, also as a cause, where it was thrown too. */
export function failureText(error: unknown): string {
  if (!EventloomError.isInstance(error)) return inspect(error);
  const { code, message, cause } = error;
  return cause === undefined ? `${code}: ${message}` : `${code}: ${message}\n  because of ${failureText(cause)}`;
}
