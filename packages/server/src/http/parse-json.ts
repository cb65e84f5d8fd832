import { InvalidRequestError, toError } from '@eventloom/core';
import { isDeeperThan } from '@eventloom/core/wire';

/** How deep JSON may nest; what is deeper would overflow the stack of some reader on the way. */
const MAX_DEPTH = 256;

/**
 * A value from JSON text that somebody sent.
 * @param what it is, for the message
 * @throws InvalidRequestError for what is no JSON, and for what is nested too deep
 */
export function parseJson(what: string, text: string): unknown {
  const value = parse(what, text);
  if (isDeeperThan(MAX_DEPTH, value)) {
    throw new InvalidRequestError(`${what}: is nested deeper than ${MAX_DEPTH} levels`);
  }
  return value;
}

function parse(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError(`${what}: is not JSON: ${toError(cause).message}`, { cause });
  }
}
