import { InvalidRequestError } from '@eventloom/core';
import type { AuthenticatedUser } from '@eventloom/server';
import { isUser } from '@eventloom/server/internal';

const HEADER = 'eventloom-forwarded';

/** What the Worker tells a user's object beside the request. */
export interface Forwarded {
  readonly appName: string;
  /** Who the request comes from; undefined where nobody is asked. */
  readonly user: AuthenticatedUser | undefined;
}

/**
 * The headers of a request to a user's object. What the client says under the same name is overwritten. The origin stays behind: the
 * Worker has let it in, and adds what its pages are told.
 */
export function forwardedHeaders(headers: Headers, forwarded: Forwarded): Headers {
  const all = new Headers(headers);
  all.delete('origin');
  all.set(HEADER, encodeURIComponent(JSON.stringify(forwarded)));
  return all;
}

/**
 * Undefined for a request that the Worker did not hand on. Only the Worker has the binding of the object.
 * @throws InvalidRequestError for what another version of the Worker may write
 */
export function forwardedOf(request: Request): Forwarded | undefined {
  const text = request.headers.get(HEADER);
  if (text === null) return undefined;
  const value: unknown = JSON.parse(decodeURIComponent(text));
  if (isForwarded(value)) return value;
  throw new InvalidRequestError(`${HEADER}: is not what the Worker writes`);
}

function isForwarded(value: unknown): value is Forwarded {
  if (typeof value !== 'object' || value === null) return false;
  const { appName, user }: { appName?: unknown; user?: unknown } = value;
  return typeof appName === 'string' && (user === undefined || isUser(user));
}
