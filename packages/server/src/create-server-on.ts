import { systemPlatform } from '@eventloom/core';
import type { Hono } from 'hono';
import { addRoutes } from './http/add-routes.ts';
import { createReporter } from './http/error-response.ts';
import { identify } from './http/authentication.ts';
import { UserQuotas } from './http/user-quotas.ts';
import { guardOf, guardRequest } from './http/request-guard.ts';
import type { Route } from './http/route.ts';
import type { LiveAdmission } from './live-endpoint.ts';
import { openApiRoute } from './openapi/open-api-document.ts';
import { createStorageProbe, serverRoutes } from './routes/server-routes.ts';
import { commonRoutes, userRoutes } from './routes/user-routes.ts';
import { RunHub } from './runs/run-hub.ts';
import { Webhooks } from './runs/webhooks.ts';
import type { ServerContext } from './server-context.ts';
import { DEFAULT_LIMITS, mergeLimits, type ServerLimits } from './server-limits.ts';
import { checkServerOptions, type ServerOptions } from './server-options.ts';
import { VERSION } from './version.ts';

/** An Eventloom server: answers requests wherever there is `fetch`. */
export interface EventloomServer {
  /**
   * The routes. A route that is added here is guarded against foreign hosts and origins and by nothing else: it is not authenticated, has no
   * quotas and can reach no run. Give `createServer` a protocol for a route that needs them.
   */
  readonly app: Hono;
  /** Answers one request. One that asks for a WebSocket at `live.path` is for `live.admit`. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Admits WebSockets to live runs, for the code between a server and the sockets of its runtime. Undefined without the option `live`. */
  readonly live: LiveGate | undefined;
  /** True when requests say who they come from, or need not: the server may be reached from other machines. */
  readonly isGuarded: boolean;
  /** Runs in flight, calls included. */
  readonly runsInFlight: number;
  readonly limits: ServerLimits;
  /** Resolves when no run is in flight, live runs left out; undefined when none is now. Never rejects. */
  whenIdle(): Promise<void> | undefined;
  /**
   * Looks once for runs that other processes left, and resumes or closes them as `onUnfinishedRuns` says; those that are resumed go on
   * behind it, and can be followed when it settles. The server does it by itself, unless `limits.unfinishedRunsEveryMs` is 0. Never rejects.
   * @returns after how many milliseconds there may be more, because a session is held until then; undefined when none is
   */
  takeUpUnfinishedRuns(): Promise<number | undefined>;
  /**
   * Makes the attempts at messages of webhooks that are due, those that other processes left included. Settles when they are made; never
   * rejects. Undefined without the option `webhooks`. The server does it by itself, unless `limits.unfinishedRunsEveryMs` is 0.
   */
  deliverWebhooks(): Promise<void> | undefined;
  /** Time of the next such attempt known to this process, in milliseconds since the epoch; `Infinity` if there is none. */
  readonly webhooksDueMs: number;
  /**
   * Takes no further run and brings those in flight to an end: they may finish for half of the time, then stop at their next
   * commit, and at its end at once. A call ends when the model has said its sentence. Requests that start no run are still answered.
   * Settles at the latest a second later, and another one later if messages of webhooks are to be sent; what is not sent by then is sent
   * by the next process.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** Admits WebSockets to the live runs of a server. `./node` and `@eventloom/cloudflare` call it. */
export interface LiveGate {
  /** The path of the WebSockets. */
  readonly path: string;
  /** The subprotocol named to a client that offers it. */
  readonly protocol: string;
  /** Decides about a request that asks for a WebSocket. Never rejects. */
  admit(request: Request): Promise<LiveAdmission>;
}

/**
 * `createServer` on a router that is given, which has no routes yet: so that who is short of space brings a small one.
 * @throws ConfigurationError for what cannot work
 */
export function createServerOn(app: Hono, options: ServerOptions): EventloomServer {
  checkServerOptions(options);
  const platform = options.platform ?? systemPlatform;
  const limits = mergeLimits(DEFAULT_LIMITS, options.limits);
  const report = createReporter(platform, options.onError);
  const runners = new Map(options.runners.map((runner) => [runner.appName, runner]));
  const runs = new RunHub({ ...options, platform, limits, report });
  const webhooks =
    options.webhooks &&
    new Webhooks(options.webhooks, { runners: options.runners, hub: runs, limits, platform, report });
  const server: ServerContext = {
    runners,
    runs,
    live: options.live?.createHost({ runners, limits, runConfig: options.runConfig, platform, report }),
    limits,
    quotas: new UserQuotas(limits),
    runConfig: options.runConfig,
    webhooks,
    isStorageReachable: createStorageProbe(options.runners, platform),
    platform,
    trustsImportedEvents: options.trustImportedEvents === true,
    version: { version: VERSION, language: 'typescript', ...options.version },
  };
  const routes: Route[] = [
    ...serverRoutes,
    ...userRoutes(options.protocols),
    ...commonRoutes(options.protocols),
    ...(options.live?.routes ?? []),
  ];
  addRoutes(app, [...routes, openApiRoute(routes, VERSION, limits)], {
    ...options,
    server,
    identify: options.authenticate && ((request) => identify(request, options)),
    report,
  });
  server.runs.unfinished.start();
  webhooks?.start();
  return {
    app,
    fetch: app.fetch,
    live: gateOf(server, options),
    limits,
    isGuarded: options.authenticate !== undefined || options.allowUnauthenticated === true,
    get runsInFlight() {
      return server.runs.inFlight + (server.live?.size ?? 0);
    },
    whenIdle: () => server.runs.whenIdle(),
    takeUpUnfinishedRuns: () => server.runs.unfinished.look(),
    deliverWebhooks: () => webhooks?.deliver(),
    get webhooksDueMs() {
      return webhooks?.dueMs ?? Infinity;
    },
    async drain(timeoutMs) {
      await Promise.all([server.runs.drain(timeoutMs), server.live?.drain(timeoutMs)]);
      await webhooks?.drain();
    },
  };
}

function gateOf({ live }: ServerContext, options: ServerOptions): LiveGate | undefined {
  if (!live || !options.live) return undefined;
  const { path, protocol } = options.live;
  return {
    path,
    protocol,
    admit: (request) =>
      live.admit(request, () => {
        guardRequest(request, guardOf(options));
        return identify(request, options);
      }),
  };
}
