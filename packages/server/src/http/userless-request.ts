import { ConfigurationError } from '@eventloom/core';
import type { CommonRequest, ProtocolRequest } from '../protocol.ts';
import type { FrontContext } from '../server-context.ts';
import type { ServerRequest } from './server-request.ts';

/** The methods of a request that act for its user. */
const USER_METHODS = [
  'startRun',
  'followRun',
  'cancelRun',
  'runState',
  'requireSameUser',
  'agent',
  'sessions',
  'artifacts',
] as const satisfies readonly Exclude<keyof ProtocolRequest, keyof CommonRequest>[];

/**
 * Returns the part of a request for code that runs before its user is known, or without one. In JavaScript this code can call the other methods,
 * which throw a ConfigurationError.
 *
 * @param path the path of the route, for error messages
 */
export function toCommonRequest(path: string, request: ServerRequest<FrontContext>): CommonRequest {
  const common: CommonRequest = {
    raw: request.raw,
    user: request.user,
    param: (name) => request.param(name),
    query: (name) => request.query(name),
    bytes: () => request.bytes(),
    json: () => request.json(),
  };
  for (const method of USER_METHODS)
    Reflect.set(common, method, () => {
      throw new ConfigurationError(
        `${path}: ${method}: the request has no user here; call it in handle of a route in routes, whose owner is checked`,
      );
    });
  return common;
}
