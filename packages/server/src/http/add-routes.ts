import { toError } from '@eventloom/core';
import type { Hono } from 'hono';
import { cors } from 'hono/cors';
import { MethodNotAllowedError, RouteNotFoundError } from '../errors.ts';
import type { FrontContext } from '../server-context.ts';
import type { ServerOptions } from '../server-options.ts';
import { ServerRequest } from './server-request.ts';
import { errorResponse } from './error-response.ts';
import { shownAddress } from './request-body.ts';
import { type Callers, guardOf, guardRequest, type Identify, isAllowedOrigin } from './request-guard.ts';
import { jsonResponse, NEXT_CURSOR } from './responses.ts';
import { INVOCATION_ID_HEADER } from './run-response.ts';
import type { HttpRoute } from './route.ts';

/** Options of `addRoutes`. */
export interface RoutesOptions<Server extends FrontContext> extends Pick<
  ServerOptions,
  'authenticate' | 'allowUnauthenticated' | 'origins'
> {
  /** Context that is passed to the routes with each request. */
  readonly server: Server;
  /**
   * Authenticates the request of every route that is not public; throws to refuse the request. Absent: every request is
   * anonymous.
   */
  readonly identify?: Identify | undefined;
  /** The users of requests that the program itself makes: see `EventloomServer.fetchAs`. */
  readonly callers: Callers;
  readonly report: (error: unknown) => void;
}

/** Adds routes to an empty router, which answers all other requests with an error. */
export function addRoutes<Server extends FrontContext>(
  app: Hono,
  routes: readonly HttpRoute<Server>[],
  options: RoutesOptions<Server>,
): void {
  addGuards(app, routes, options);
  const byPath = Map.groupBy(routes, ({ path }) =>
    path.replaceAll(/\{(\w+)\}/g, ':$1').replace(/\{(\w+)\+\}$/, ':$1{.+}'),
  );
  // The router takes the first path that matches, so paths with words are added before paths with parameters.
  const paths = [...byPath].sort(([one], [other]) => specificityOf(one).localeCompare(specificityOf(other)));
  for (const [path, group] of paths) addPath(app, path, group, options);
  app.notFound(({ req: { method, path } }) =>
    method === 'GET' && path === '/' ? introduce(options) : errorResponse(nothingAt(method, path)),
  );
  app.onError((error) => {
    options.report(error);
    return errorResponse(error);
  });
}

/** Returns a digit for each segment of a path: 0 for a word, 1 for a parameter, 2 for a parameter of several segments. */
function specificityOf(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment.endsWith('{.+}') ? 2 : Number(segment.startsWith(':'))))
    .join('');
}

/** Answers `GET /` if no route was added there. With `authenticate`, the answer has no version. */
function introduce({ authenticate, server }: RoutesOptions<FrontContext>): Response {
  const version = authenticate ? undefined : server.version['version'];
  return jsonResponse({ name: 'eventloom', version, routes: `${server.basePath}/openapi.json` });
}

function nothingAt(method: string, path: string): RouteNotFoundError {
  return new RouteNotFoundError(
    `there is no route ${method} ${shownAddress(path)}; GET /openapi.json lists the routes`,
  );
}

function addGuards<Server extends FrontContext>(
  app: Hono,
  routes: readonly HttpRoute<Server>[],
  options: RoutesOptions<Server>,
): void {
  const publicRoutes = new Set(
    routes.filter(({ isPublic }) => isPublic).map(({ method, path }) => `${method} ${path}`),
  );
  const { isLoopbackOnly, origins } = guardOf(options);
  app.use(async ({ req }, next) => {
    guardRequest(req.raw, {
      isLoopbackOnly:
        isLoopbackOnly && !publicRoutes.has(`${req.method === 'HEAD' ? 'get' : req.method.toLowerCase()} ${req.path}`),
      origins,
    });
    try {
      await next();
    } catch (thrown) {
      // hono passes errors to `onError`, but passes other thrown values to the HTTP server.
      throw toError(thrown);
    }
  });
  if (origins.length === 0) return;
  app.use(
    cors({
      origin: (origin) => (isAllowedOrigin(origin, '', origins) ? origin : undefined),
      allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
      exposeHeaders: [INVOCATION_ID_HEADER, NEXT_CURSOR, 'Retry-After', 'Location'],
      // Cookies only for pages that are listed by name.
      credentials: !origins.includes('*'),
      maxAge: 600,
    }),
  );
}

function addPath<Server extends FrontContext>(
  app: Hono,
  path: string,
  group: readonly HttpRoute<Server>[],
  { server, identify, callers }: RoutesOptions<Server>,
): void {
  const methods = group.map(({ method }) => method.toUpperCase());
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
  app.all(path, async (context, next) => {
    const { req } = context;
    // Some routers of hono match a path with and without its final slash.
    if (req.path.endsWith('/') !== path.endsWith('/')) return next();
    const route = group[methods.indexOf(req.method === 'HEAD' ? 'GET' : req.method)];
    if (!route) {
      const refusal = `${shownAddress(req.path)} accepts ${allow}, not ${req.method}`;
      return errorResponse(new MethodNotAllowedError(refusal), { allow });
    }
    const caller = callers.get(req.raw);
    const user = route.isPublic ? undefined : (caller ?? (await identify?.(req.raw)));
    const request = new ServerRequest(server, context, user, caller !== undefined);
    try {
      if (request.quota.place) {
        await request.quota.place;
        // Nobody reads the response, and nothing of the request was read.
        if (req.raw.signal.aborted) return new Response(null, { status: 499 });
      }
      const response = await route.handle(request);
      // The body of a response to HEAD is not sent. A reader of a run would count as connected.
      if (req.method === 'HEAD') await response.body?.cancel();
      return response;
    } finally {
      const { quota } = request;
      // Without a reader by now, the run needs no connection.
      quota.count('reservedReaders', -quota.used.reservedReaders);
      quota.release();
    }
  });
}
