import { EventloomError } from '@eventloom/core';
import type { ErrorBody } from '@eventloom/core/schemas';

/** What a client is told of an error. Of one that is not Eventloom's own it learns only that it happened. */
export function errorBody(error: unknown): ErrorBody {
  if (EventloomError.isInstance(error)) return { error: error.message, code: error.code };
  return { error: 'the server failed to answer; its log says why', code: 'INTERNAL' };
}
