import { ConfigurationError, EventloomError, systemPlatform } from '@eventloom/core';
import type { Context, Hono } from 'hono';
import { cors } from 'hono/cors';
import { MethodNotAllowedError } from './errors/method-not-allowed-error.ts';
import { RouteNotFoundError } from './errors/route-not-found-error.ts';
import { UnauthenticatedError } from './errors/unauthenticated-error.ts';
import { Call } from './http/call.ts';
import { errorResponse } from './http/error-response.ts';
import { errorStatus } from './http/error-status.ts';
import { guardRequest, isAllowedOrigin, type RequestGuardOptions } from './http/request-guard.ts';
import type { Route } from './http/route.ts';
import { INVOCATION_ID_HEADER } from './http/sse-response.ts';
import { artifactRoutes } from './routes/artifact-routes.ts';
import { openApiRoute } from './routes/open-api-route.ts';
import { runBufferRoutes } from './routes/run-buffer-routes.ts';
import { runRoutes } from './routes/run-routes.ts';
import { serverRoutes } from './routes/server-routes.ts';
import { historyRoutes } from './routes/history-routes.ts';
import { sessionRoutes } from './routes/session-routes.ts';
import { GRACE_MS } from './runs/run-drain.ts';
import { RunRegistry } from './runs/run-registry.ts';
import { UnfinishedRuns } from './runs/unfinished-runs.ts';
import { within } from './runs/within.ts';
import type { ServerContext } from './server-context.ts';
import { DEFAULT_LIMITS, limitsOver } from './server-limits.ts';
import { type AuthenticatedUser, checkServerOptions, type ServerOptions } from './server-options.ts';
import { VERSION } from './version.ts';

/** An Eventloom server: answers requests wherever there is `fetch`. */
export interface EventloomServer {
  /** The routes. More can be added; they are guarded against foreign hosts and origins, and not by `authenticate`. */
  readonly app: Hono;
  /** Answers one request. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** True when requests say who they come from, or need not: the server may be reached from other machines. */
  readonly isGuarded: boolean;
  /** Runs in flight. */
  readonly runsInFlight: number;
  /**
   * Looks once for runs that other processes left, and resumes or closes them as `onUnfinishedRuns` says; those that are resumed go on
   * behind it, and can be followed when it settles. The server does it by itself, unless `limits.unfinishedRunsEveryMs` is 0. Never rejects.
   * @returns after how many milliseconds there may be more, because a session is held until then; undefined when none is
   */
  takeUpUnfinishedRuns(): Promise<number | undefined>;
  /**
   * Takes no further run and brings those in flight to an end: they may finish for half of the time, then stop at their next
   * commit, and at its end at once. Requests that start no run are still answered. Settles at the latest a second later.
   */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * `createServer` on a router that is given, which has no routes yet: so that who is short of space brings a small one.
 * @throws ConfigurationError for what cannot work
 */
export function createServerOn(app: Hono, options: ServerOptions): EventloomServer {
  checkServerOptions(options);
  const platform = options.platform ?? systemPlatform;
  const limits = limitsOver(DEFAULT_LIMITS, options.limits);
  const report = createReporter(options.onError ?? ((error) => console.error(error)));
  const server: ServerContext = {
    runners: new Map(options.runners.map((runner) => [runner.appName, runner])),
    runs: new RunRegistry(platform, limits, report, options.relay),
    limits,
    platform,
    version: { version: VERSION, language: 'typescript', ...options.version },
  };
  const { onUnfinishedRuns: action = 'resume', runners } = options;
  const unfinished = new UnfinishedRuns({ runners, runs: server.runs, action, limits, platform, report });
  addGuards(app, options);
  const routes = [
    ...serverRoutes,
    ...sessionRoutes,
    ...historyRoutes,
    ...artifactRoutes,
    ...runRoutes,
    ...runBufferRoutes,
  ];
  addRoutes(app, [...routes, openApiRoute(routes, VERSION)], server, options);
  app.notFound(({ req }) => errorResponse(new RouteNotFoundError(`there is nothing at ${req.method} ${req.path}`)));
  app.onError((error) => {
    report(error);
    return errorResponse(error);
  });
  unfinished.start();
  return {
    app,
    fetch: (request) => app.fetch(request),
    isGuarded: options.authenticate !== undefined || options.allowUnauthenticated === true,
    get runsInFlight() {
      return server.runs.inFlight;
    },
    takeUpUnfinishedRuns: () => unfinished.look(),
    async drain(timeoutMs) {
      const stopped = within(platform, unfinished.stop(), timeoutMs + GRACE_MS);
      await Promise.all([server.runs.drain(timeoutMs), stopped]);
    },
  };
}

function addGuards(app: Hono, { authenticate, allowUnauthenticated = false, origins = [] }: ServerOptions): void {
  const guard: RequestGuardOptions = { isLoopbackOnly: !authenticate && !allowUnauthenticated, origins };
  app.use(async (context, next) => {
    guardRequest(context.req.raw, guard);
    await next();
  });
  if (origins.length === 0) return;
  app.use(
    cors({
      origin: (origin) => (isAllowedOrigin(origin, '', origins) ? origin : undefined),
      allowMethods: ['GET', 'POST', 'PATCH', 'DELETE'],
      exposeHeaders: [INVOCATION_ID_HEADER, 'Eventloom-Next-Cursor', 'Retry-After'],
      maxAge: 600,
    }),
  );
}

function addRoutes(app: Hono, routes: readonly Route[], server: ServerContext, options: ServerOptions): void {
  const byPath = Map.groupBy(routes, ({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
  for (const [path, group] of byPath) {
    for (const route of group) {
      app.on(route.method, path, async (context) => {
        const user = route.isPublic ? undefined : await identify(context, options);
        return route.handle(new Call(server, context, user));
      });
    }
    const methods = group.map(({ method }) => method.toUpperCase());
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
    app.all(path, ({ req }) =>
      errorResponse(new MethodNotAllowedError(`${req.path} takes ${allow}, not ${req.method}`), { allow }),
    );
  }
}

/** @throws UnauthenticatedError when the hook knows nobody, ConfigurationError when its answer is no user */
async function identify(context: Context, { authenticate }: ServerOptions): Promise<AuthenticatedUser | undefined> {
  if (!authenticate) return undefined;
  const user: unknown = await authenticate(context.req.raw);
  if (user === undefined || user === null) {
    throw new UnauthenticatedError('the request does not say who it comes from, or is not believed');
  }
  if (isUser(user)) return user;
  throw new ConfigurationError('authenticate must answer { userId } with a text that is not empty, or undefined');
}

/** A hook in JavaScript answers what it likes, and a mistake of it must let nobody in. */
function isUser(value: unknown): value is AuthenticatedUser {
  if (typeof value !== 'object' || value === null || !('userId' in value)) return false;
  return typeof value.userId === 'string' && value.userId !== '';
}

/** Reports the failures that are the server's own, each once: a run's failure is also the answer to its request. */
function createReporter(onError: (error: unknown) => void): (error: unknown) => void {
  const reported = new WeakSet<object>();
  return (error) => {
    if (EventloomError.isInstance(error) && errorStatus(error.code) < 500) return;
    if (typeof error === 'object' && error !== null) {
      if (reported.has(error)) return;
      reported.add(error);
    }
    onError(error);
  };
}
