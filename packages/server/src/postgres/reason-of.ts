import { toError } from '@eventloom/core';

/** What an error of the database says. A host with several addresses fails once for each, under an error that says nothing. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return toError(error).message;
}
