import { systemPlatform } from '@eventloom/core';
import { WorkQueue } from '@eventloom/core/internal';
import type { Hono } from 'hono';
import { addRoutes } from './http/add-routes.ts';
import { checkBasePath } from './http/base-path.ts';
import { createReporter } from './http/error-response.ts';
import { LargeResponses } from './http/large-responses.ts';
import { UserQuotas } from './http/user-quotas.ts';
import { asCaller, type Callers, guardOf, guardRequest, identifierOf, type Identify } from './http/request-guard.ts';
import type { HttpRoute } from './http/route.ts';
import type { LiveAdmission } from './live-endpoint.ts';
import { openApiRoute } from './openapi/open-api-document.ts';
import { createStorageProbe, serverRoutes } from './routes/server-routes.ts';
import { commonRoutes, userRoutes } from './routes/user-routes.ts';
import { RunHub } from './runs/run-hub.ts';
import { Webhooks } from './runs/webhooks.ts';
import type { ServerApp } from './server-app.ts';
import type { ServerContext } from './server-context.ts';
import { DEFAULT_LIMITS, mergeLimits, type ServerLimits } from './server-limits.ts';
import { type AuthenticatedUser, checkServerOptions, type ServerOptions } from './server-options.ts';
import { VERSION } from './version.ts';

/**
 * An Eventloom server. Its `fetch` answers requests on Node, Bun, Deno and in a Durable Object; `serve` of `@eventloom/server/node` listens
 * on a port with it. A Worker needs `@eventloom/cloudflare`, because the requests of a Worker share no timers.
 */
export interface EventloomServer {
  /**
   * The router for the application's own routes. The server checks only the host and the origin of their requests: these routes have no
   * authentication and no quotas, and cannot reach runs. A route that needs these belongs in a protocol: see the option `protocols` of
   * `createServer`.
   */
  readonly app: ServerApp;
  /** Answers a request. A request for a WebSocket at `live.path` belongs to `live.admit` instead. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /**
   * Answers a request of the program itself as one of this user, without `authenticate`: for a cron, a queue, or a route of the
   * application that has checked the user itself. Quotas and all other checks hold, also that the request names this user.
   *
   * @throws ConfigurationError without a user and a request
   */
  readonly fetchAs: (user: AuthenticatedUser, request: Request) => Response | Promise<Response>;
  /** Admits WebSockets to live runs; `serve` and Workers call it. Undefined without the option `live`. */
  readonly live: LiveGate | undefined;
  /** True with `authenticate` or `allowUnauthenticated`, so that requests may come from other machines. */
  readonly isGuarded: boolean;
  /** Number of active runs, live runs included. */
  readonly runsInFlight: number;
  readonly limits: ServerLimits;
  /** Resolves when no run is active, live runs not counted; undefined if none is active now. Never rejects. */
  whenIdle(): Promise<void> | undefined;
  /**
   * Searches once for unfinished runs whose process was lost, and resumes or closes them according to `onUnfinishedRuns`. When the promise
   * settles, resumed runs are active and can be followed. The server calls it at intervals, unless `limits.unfinishedRunsEveryMs` is 0.
   * Never rejects.
   * @returns the milliseconds until the run of the next locked session may be taken over, at most a minute; undefined if no session is
   * locked
   */
  takeUpUnfinishedRuns(): Promise<number | undefined>;
  /**
   * Sends the webhook messages that are due, also those of other processes. Settles after one attempt for each; never rejects.
   * Undefined without the option `webhooks`. The server calls it at intervals, unless `limits.unfinishedRunsEveryMs` is 0.
   */
  deliverWebhooks(): Promise<void> | undefined;
  /** Time of the next webhook message that this process knows of, in milliseconds since the epoch; `Infinity` if there is none. */
  readonly webhooksDueMs: number;
  /**
   * Refuses new runs and ends the active ones. For half of `timeoutMs` runs may finish; in the other half each is stopped at its next
   * commit; then the remaining ones are aborted. A live run ends when the model has finished its sentence. Requests that start no run are
   * still answered. Resolves at the latest one second after `timeoutMs`, or two seconds if webhook messages are waiting; the next process
   * sends the remaining messages.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** Admits WebSockets to the live runs of a server. `./node` and `@eventloom/cloudflare` call it. */
export interface LiveGate {
  /** The path of the WebSockets below the base path. */
  readonly path: string;
  /** `basePath` of the server, which a request may have or not; empty if there is none. */
  readonly basePath: string;
  /** The WebSocket subprotocol, which is confirmed to a client that offers it. */
  readonly protocol: string;
  /** Decides whether a request gets its WebSocket. Never rejects. */
  admit(request: Request): Promise<LiveAdmission>;
}

/**
 * Creates a server like `createServer`, on an empty router of the caller.
 *
 * @param owner the function that got the options, for error messages. Default: `createServer`
 * @throws ConfigurationError for an invalid or unknown option, and for two runners with the same `appName`
 */
export function createServerOn(app: Hono, options: ServerOptions, owner?: string): EventloomServer {
  checkServerOptions(options, owner);
  const platform = options.platform ?? systemPlatform;
  const limits = mergeLimits(DEFAULT_LIMITS, options.limits);
  const report = createReporter(platform, options.onError);
  const runners = new Map(options.runners.map((runner) => [runner.appName, runner]));
  const quotas = new UserQuotas(limits, platform);
  const runs = new RunHub({ ...options, platform, limits, quotas, report });
  const webhooks =
    options.webhooks &&
    new Webhooks(options.webhooks, { runners: options.runners, hub: runs, limits, platform, report });
  const queue = new WorkQueue(platform);
  const server: ServerContext = {
    runners,
    basePath: options.basePath ?? '',
    runs,
    live: options.live?.createHost({ runners, limits, runConfig: options.runConfig, platform, report }),
    limits,
    quotas,
    runConfig: options.runConfig,
    webhooks,
    isStorageReachable: createStorageProbe(options.runners, platform),
    largeTexts: queue,
    responses: new LargeResponses({ quotas, heartbeatMs: limits.heartbeatMs, platform, queue, report }),
    platform,
    report,
    trustsImportedEvents: options.trustImportedEvents === true,
    version: { version: VERSION, language: 'typescript', ...options.version },
  };
  const routes: HttpRoute[] = [
    ...serverRoutes,
    ...userRoutes(options.protocols),
    ...commonRoutes(options.protocols),
    ...(options.live?.routes ?? []),
  ];
  const identify = identifierOf(options, platform);
  const callers: Callers = new WeakMap();
  const allRoutes = [...routes, openApiRoute(routes, VERSION, server)];
  checkBasePath(server.basePath, allRoutes);
  addRoutes(app, allRoutes, {
    ...options,
    server,
    identify,
    callers,
    report,
  });
  server.runs.unfinished.start();
  webhooks?.start();
  return {
    app,
    fetch: app.fetch,
    fetchAs: (user, request) => app.fetch(asCaller(callers, user, request)),
    live: gateOf(server, options, identify),
    limits,
    isGuarded: options.authenticate !== undefined || options.allowUnauthenticated === true,
    get runsInFlight() {
      return server.runs.inFlight + (server.live?.size ?? 0);
    },
    whenIdle: () => server.runs.whenIdle(),
    takeUpUnfinishedRuns: () => server.runs.unfinished.search(),
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

function gateOf({ live }: ServerContext, options: ServerOptions, identify: Identify | undefined): LiveGate | undefined {
  if (!live || !options.live) return undefined;
  const { path, protocol } = options.live;
  return {
    path,
    basePath: options.basePath ?? '',
    protocol,
    admit: (request) => live.admit(request, identifyCaller(request, options, identify)),
  };
}

async function identifyCaller(
  request: Request,
  options: ServerOptions,
  identify: Identify | undefined,
): Promise<AuthenticatedUser | undefined> {
  guardRequest(request, guardOf(options));
  return identify?.(request);
}
