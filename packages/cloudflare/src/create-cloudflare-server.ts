import { ConfigurationError, systemPlatform } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import type { AuthenticatedUser } from '@eventloom/server';
import { asCaller, createReporter, errorResponse } from '@eventloom/server/internal';
import { AppStateObject } from './app-state-object.ts';
import type { CloudflareBindings, ObjectState } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { UserObject } from './user-object.ts';
import { WorkerRouter } from './worker-router.ts';

/** A Durable Object class, as a Worker exports it. */
export interface ObjectClass<Env> {
  new (
    state: ObjectState,
    env: Env,
  ): {
    fetch(request: Request): Promise<Response>;
    alarm?(): Promise<void>;
  };
}

/** The exports of a Worker that serves agents. */
export interface CloudflareServer<Env> {
  /** The default export. */
  readonly handler: { fetch(request: Request, env: Env): Promise<Response> };
  /**
   * Answers a request of the Worker itself as one of this user, without `authenticate`: for `scheduled` and `queue`, or a route that has
   * checked the user itself. All other checks hold, also that the request names this user.
   *
   * @throws ConfigurationError without a user and a request
   */
  readonly fetchAs: (env: Env, user: AuthenticatedUser, request: Request) => Promise<Response>;
  /** The class for the binding `EVENTLOOM_USERS`, with SQLite storage. */
  readonly UserObject: ObjectClass<Env>;
  /** The class for the binding `EVENTLOOM_APPS`, with SQLite storage. */
  readonly AppStateObject: ObjectClass<Env>;
}

/**
 * Creates the server as a Worker: a stateless router, a Durable Object for each user of an app, and one for the state of each app. It
 * answers the routes of `createServer`, and needs no compatibility flag.
 *
 * A request that names a user costs one request to that user's object and, at most once a second, one to the app's object for `app:` state
 * that other users wrote. Bodies are read in the Worker, up to `limits.maxBodyBytes`.
 *
 * Options are checked at the first request. If they are invalid, `onError` is called once and every request is answered with 500, except
 * `/health` and `/livez`, which report only on the Worker.
 * @throws ConfigurationError without options
 *
 * @example
 * const server = createCloudflareServer({
 *   appNames: ['helper'],
 *   runners: (_env, services) => [new Runner({ appName: 'helper', agent, ...services })],
 * });
 *
 * export const { UserObject, AppStateObject } = server;
 * export default server.handler;
 */
export function createCloudflareServer<Env extends CloudflareBindings>(
  options: CloudflareServerOptions<Env>,
): CloudflareServer<Env> {
  // Other faults are reported at the first request, to the `onError` of the options.
  if (!isRecord(options))
    throw new ConfigurationError(
      `createCloudflareServer: expected an object of options, got ${describeKind(options)}; write createCloudflareServer({ appNames: ['weather'], runners: (env, services) => [new Runner({ appName: 'weather', agent, ...services })] })`,
    );
  const report = createReporter(systemPlatform, options.onError);
  const routers = new WeakMap<Env, WorkerRouter<Env>>();
  const routerOf = (env: Env): WorkerRouter<Env> => {
    const router = routers.get(env) ?? new WorkerRouter(env, options, report);
    routers.set(env, router);
    return router;
  };
  const fetch = async (request: Request, env: Env): Promise<Response> => {
    try {
      return await routerOf(env).fetch(request);
    } catch (error) {
      report(error);
      return errorResponse(error);
    }
  };
  return {
    handler: { fetch },
    fetchAs: async (env, user, request) => fetch(asCaller(routerOf(env).callers, user, request), env),
    UserObject: class extends UserObject<Env> {
      constructor(state: ObjectState, env: Env) {
        super(state, env, options);
      }
    },
    AppStateObject,
  };
}
