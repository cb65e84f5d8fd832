import type { Route } from '../http/route.ts';
import { checkProtocols, type Protocol, type ProtocolRequest, type ProtocolRoute, specOf } from '../protocol.ts';
import type { FrontContext } from '../server-context.ts';
import { artifactRoutes } from './artifact-routes.ts';
import { graphRoutes } from './graph-routes.ts';
import { historyRoutes } from './history-routes.ts';
import { runBufferRoutes } from './run-buffer-routes.ts';
import { runRoutes } from './run-routes.ts';
import { serverRoutes } from './server-routes.ts';
import { sessionRoutes } from './session-routes.ts';

/** The routes of the ADK's server that act for a user: the first protocol of every server. */
const adkRoutes: readonly Route[] = [
  ...sessionRoutes,
  ...historyRoutes,
  ...artifactRoutes,
  ...runRoutes,
  ...runBufferRoutes,
  ...graphRoutes,
];

/**
 * Returns the routes that act for a user, in the order in which they are described. On Workers that user's object answers them.
 * @throws ConfigurationError for a protocol that cannot be served
 */
export function userRoutes(protocols: readonly Protocol[] = []): Route[] {
  checkProtocols(protocols, [...serverRoutes, ...adkRoutes]);
  return [...adkRoutes, ...protocols.flatMap(({ routes }) => routes.map(toRoute))];
}

/** Returns the routes of the protocols that act for no user. On Workers the Worker answers them. */
export function commonRoutes(protocols: readonly Protocol[] = []): Route<FrontContext>[] {
  return protocols.flatMap(({ commonRoutes: routes = [] }) =>
    routes.map((route) => ({ ...specOf(route), handle: (request) => route.handle(request) })),
  );
}

function toRoute(route: ProtocolRoute): Route {
  const handle = (request: ProtocolRequest): Response | Promise<Response> => route.handle(request);
  const owner = route.owner?.bind(route);
  return { ...specOf(route), handle, ...(owner ? { owner } : {}) };
}
