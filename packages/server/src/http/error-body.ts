import { EventloomError } from '@eventloom/core';
import type { ErrorBody } from '@eventloom/core/wire';

/** What is told of a message, in characters: runs keep what they failed of in a row of a table. */
const MAX_MESSAGE_CHARS = 64 * 1024;

/**
 * What a client is told of an error. Of one that is not Eventloom's own it learns only that it happened, and in which agent or node. A very
 * long message is cut.
 */
export function errorBody(error: unknown): ErrorBody {
  if (EventloomError.isInstance(error))
    return { error: error.publicMessage.slice(0, MAX_MESSAGE_CHARS), code: error.code };
  return { error: 'the server failed to answer; its log says why', code: 'INTERNAL' };
}
