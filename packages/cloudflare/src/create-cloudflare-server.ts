import { createReporter, errorResponse } from '@eventloom/server/internal';
import { AppStateObject } from './app-state-object.ts';
import type { CloudflareBindings, ObjectState } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { UserObject } from './user-object.ts';
import { WorkerRouter } from './worker-router.ts';

/** A class of Durable Objects, as a Worker exports it. */
export interface ObjectClass<Env> {
  new (
    state: ObjectState,
    env: Env,
  ): {
    fetch(request: Request): Promise<Response>;
    alarm?(): Promise<void>;
  };
}

/** What a Worker exports. */
export interface CloudflareServer<Env> {
  /** The default export. */
  readonly handler: { fetch(request: Request, env: Env): Promise<Response> };
  /** The class behind the binding `EVENTLOOM_USERS`, with SQLite storage. */
  readonly UserObject: ObjectClass<Env>;
  /** The class behind the binding `EVENTLOOM_APPS`, with SQLite storage. */
  readonly AppStateObject: ObjectClass<Env>;
}

/**
 * The server as a Worker: a router without state, a Durable Object for each user of an app, and one for the state of each app. It
 * answers the routes of `createServer`. Needs no compatibility flag.
 *
 * A request that names a user costs a request to that user's object and, once a second at most, one to the app's object for what
 * other users wrote under `app:`. Bodies are read in the Worker, up to `limits.maxBodyBytes`.
 *
 * Nothing is checked before the first request: what cannot work is told to `onError` then, once, and each request is answered with 500, but for
 * those at `/health` and `/livez`: the Worker itself lives.
 */
export function createCloudflareServer<Env extends CloudflareBindings>(
  options: CloudflareServerOptions<Env>,
): CloudflareServer<Env> {
  const report = createReporter(options.onError);
  const routers = new WeakMap<Env, WorkerRouter<Env>>();
  const routerOf = (env: Env): WorkerRouter<Env> => {
    const router = routers.get(env) ?? new WorkerRouter(env, options, report);
    routers.set(env, router);
    return router;
  };
  return {
    handler: {
      async fetch(request, env) {
        try {
          return await routerOf(env).fetch(request);
        } catch (error) {
          report(error);
          return errorResponse(error);
        }
      },
    },
    UserObject: class extends UserObject<Env> {
      constructor(state: ObjectState, env: Env) {
        super(state, env, options);
      }
    },
    AppStateObject,
  };
}
