import { toError } from '@eventloom/core';

/** Returns the message of a database error. A host with several addresses fails once for each, under an error without a message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return toError(error).message;
}
