import { Hono } from 'hono/tiny';
import { createServerOn, type EventloomServer } from './create-server-on.ts';
import { addRoutes, type RoutesOptions } from './http/add-routes.ts';
import { routerBelow } from './http/base-path.ts';
import type { HttpRoute } from './http/route.ts';
import type { FrontContext } from './server-context.ts';
import type { ServerOptions } from './server-options.ts';

/**
 * Creates a server like `createServer` with a smaller router, for Workers, which load their code often.
 * @throws ConfigurationError for an invalid or unknown option, and for two runners with the same `appName`
 */
export function createSmallServer(options: ServerOptions): EventloomServer {
  return createServerOn(new Hono(routerBelow(options.basePath)), options, 'createCloudflareServer');
}

/** Creates a `fetch` that answers requests to these routes, and all others with an error. */
export function createSmallRouter<Server extends FrontContext>(
  routes: readonly HttpRoute<Server>[],
  options: RoutesOptions<Server>,
): (request: Request) => Response | Promise<Response> {
  const app = new Hono(routerBelow(options.server.basePath));
  addRoutes(app, routes, options);
  return (request) => app.fetch(request);
}
