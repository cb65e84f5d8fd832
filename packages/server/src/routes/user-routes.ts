import type { Route } from '../http/route.ts';
import { artifactRoutes } from './artifact-routes.ts';
import { graphRoutes } from './graph-routes.ts';
import { historyRoutes } from './history-routes.ts';
import { runBufferRoutes } from './run-buffer-routes.ts';
import { runRoutes } from './run-routes.ts';
import { sessionRoutes } from './session-routes.ts';

/** The routes to what belongs to a user, in the order in which they are described. On Workers that user's object answers them. */
export function userRoutes(): Route[] {
  return [...sessionRoutes, ...historyRoutes, ...artifactRoutes, ...runRoutes, ...runBufferRoutes, ...graphRoutes];
}
