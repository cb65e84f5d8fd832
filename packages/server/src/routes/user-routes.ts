import { ConfigurationError } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { checkProtocolResponse } from '../http/protocol-response.ts';
import { checkId } from '../http/request-body.ts';
import type { HttpRoute, RouteSpec } from '../http/route.ts';
import type { ServerRequest } from '../http/server-request.ts';
import {
  checkProtocols,
  type Protocol,
  type ProtocolRoute,
  type RunOwner,
  specOf,
  type CommonRequest,
  type ProtocolRequest,
} from '../protocol.ts';
import type { FrontContext } from '../server-context.ts';
import { artifactRoutes } from './artifact-routes.ts';
import { graphRoutes } from './graph-routes.ts';
import { historyRoutes } from './history-routes.ts';
import { followRoutes } from './follow-routes.ts';
import { runRoutes } from './run-routes.ts';
import { serverRoutes } from './server-routes.ts';
import { sessionRoutes } from './session-routes.ts';

/** The routes of the ADK's server that act for a user. Every server has them. */
const adkRoutes: readonly HttpRoute[] = [
  ...sessionRoutes,
  ...historyRoutes,
  ...artifactRoutes,
  ...runRoutes,
  ...followRoutes,
  ...graphRoutes,
];

/** Routes of every server that are not in a list, because they need the other routes or a WebSocket. */
const OTHER_ROUTES = [
  { method: 'get', path: '/openapi.json', operationId: 'openApi' },
  { method: 'get', path: '/run_live', operationId: 'runLive' },
] as const;

/**
 * Returns the routes that act for a user, in the order in which they are described. On Workers the user's Durable Object answers them.
 * @throws ConfigurationError for a protocol that cannot be served
 */
export function userRoutes(protocols: readonly Protocol[] = []): HttpRoute[] {
  checkProtocols(protocols, [...serverRoutes, ...adkRoutes, ...OTHER_ROUTES]);
  return [...adkRoutes, ...protocols.flatMap(({ routes }) => routes.map(toRoute))];
}

/** Returns the routes of the protocols that do not act for a user. On Workers the Worker answers them. */
export function commonRoutes(protocols: readonly Protocol[] = []): HttpRoute<FrontContext>[] {
  return protocols.flatMap(({ commonRoutes: routes = [] }) =>
    routes.map((route) => ({
      ...specOf(route, route.isPublic),
      async handle(request) {
        const response = await route.handle(toCommonRequest(route.path, request));
        return checkProtocolResponse(route.path, response, request);
      },
    })),
  );
}

function toRoute(route: ProtocolRoute): HttpRoute {
  const owner = route.owner?.bind(route);
  const spec: RouteSpec & Pick<HttpRoute, 'owner'> = {
    ...specOf(route),
    ...(owner ? { owner: (request) => owner(toCommonRequest(route.path, request)) } : {}),
  };
  const handle = async (request: ServerRequest): Promise<Response> => {
    await requireOwner(spec, request);
    return checkProtocolResponse(route.path, await route.handle(request), request);
  };
  return { ...spec, handle };
}

/**
 * Returns the user and app that a request is for. The request must come from this user.
 * @throws InvalidRequestError
 * @throws ForbiddenError
 * @throws AppNotFoundError, and the errors of the route's `owner`
 */
export async function requireOwner<Server extends FrontContext>(
  { path, owner }: Pick<HttpRoute, 'path' | 'owner'>,
  request: ServerRequest<Server>,
): Promise<RunOwner> {
  const { appName, userId } = owner ? checkOwner(path, await owner(request)) : ownerInPath(path, request);
  checkId('userId', userId);
  request.requireSameUser(userId);
  request.appName(appName);
  if (!request.user) request.quota.chargeTo(userId);
  return { appName, userId };
}

function ownerInPath<Server extends FrontContext>(path: string, request: ServerRequest<Server>): RunOwner {
  return path.includes('{sessionId}') ? request.sessionKey() : { userId: request.userId(), appName: request.appName() };
}

/** Checks the owner that a route returns; a route in JavaScript may return any value. */
function checkOwner(path: string, owner: unknown): RunOwner {
  if (isRecord(owner) && typeof owner['appName'] === 'string' && typeof owner['userId'] === 'string')
    return { appName: owner['appName'], userId: owner['userId'] };
  throw new ConfigurationError(
    `${path}: owner: expected { appName, userId } with two strings, got ${describeKind(owner)}; throw an InvalidRequestError for a request that names no user`,
  );
}

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
 * Returns the part of a request for code that runs before its user is known, or without one. In JavaScript this code
 * can call the other methods, which throw a ConfigurationError.
 *
 * @param path the path of the route, for error messages
 */
function toCommonRequest(path: string, request: ServerRequest<FrontContext>): CommonRequest {
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
