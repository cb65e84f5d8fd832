import { InvalidRequestError } from '@eventloom/core';
import type { AuthenticatedUser } from '@eventloom/server';

const HEADER = 'eventloom-forwarded';

/** Facts about a request that the Worker passes to a user's object in a header. */
interface Forwarded {
  readonly appName: string;
  /** The authenticated user; undefined when the server has no `authenticate`. */
  readonly user: AuthenticatedUser | undefined;
}

/**
 * Returns the headers of a request to a user's object. Overwrites a header of the same name that the client sent. Drops `origin` and
 * `sec-fetch-site`: the Worker has checked them and adds the CORS headers to the response, and the object would refuse a request from
 * another site without an origin.
 */
export function forwardedHeaders(headers: Headers, forwarded: Forwarded): Headers {
  const all = new Headers(headers);
  all.delete('origin');
  all.delete('sec-fetch-site');
  all.set(HEADER, encodeURIComponent(JSON.stringify(forwarded)));
  return all;
}

/**
 * Reads the facts that the Worker added to a request; undefined for a request that the Worker did not forward. The header can be
 * trusted because only the Worker has the binding of the object.
 * @throws InvalidRequestError for a value that another version of the Worker may have written
 */
export function forwardedOf(request: Request): Forwarded | undefined {
  const text = request.headers.get(HEADER);
  if (text === null) return undefined;
  const value: unknown = JSON.parse(decodeURIComponent(text));
  if (isForwarded(value)) return value;
  throw new InvalidRequestError(`${HEADER}: expected the value that the Worker writes`);
}

function isForwarded(value: unknown): value is Forwarded {
  if (typeof value !== 'object' || value === null) return false;
  // The server of the object checks the user.
  return 'appName' in value && typeof value.appName === 'string';
}
