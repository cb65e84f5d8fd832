import { systemPlatform } from '@eventloom/core';
import type { Hono } from 'hono';
import { addRoutes } from './http/add-routes.ts';
import { createReporter } from './http/error-response.ts';
import { identify } from './http/authentication.ts';
import { UserQuotas } from './http/user-quotas.ts';
import { guardOf, guardRequest } from './http/request-guard.ts';
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
import { checkServerOptions, type ServerOptions } from './server-options.ts';
import { VERSION } from './version.ts';

/** An Eventloom server. Its `fetch` answers requests on every runtime; `serve` of `@eventloom/server/node` listens on a port with it. */
export interface EventloomServer {
  /**
   * Adds routes. The server checks the host and the origin of their requests and nothing else: they are not authenticated, have no
   * quotas and can reach no run. A route that needs these belongs in a protocol: see the option `protocols` of `createServer`.
   */
  readonly app: ServerApp;
  /** Answers a request. A request for a WebSocket at `live.path` belongs to `live.admit` instead. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Admits WebSockets to live runs; `serve` and Workers call it. Undefined without the option `live`. */
  readonly live: LiveGate | undefined;
  /** True with `authenticate` or `allowUnauthenticated`: requests may come from other machines. */
  readonly isGuarded: boolean;
  /** Number of active runs, live runs included. */
  readonly runsInFlight: number;
  readonly limits: ServerLimits;
  /** Resolves when no run is active, live runs not counted; undefined if none is active now. Never rejects. */
  whenIdle(): Promise<void> | undefined;
  /**
   * Looks once for unfinished runs whose process was lost, and resumes or closes them as `onUnfinishedRuns` says. When the promise
   * settles, resumed runs are active and can be followed. The server calls it at intervals, unless `limits.unfinishedRunsEveryMs` is 0.
   * Never rejects.
   * @returns the milliseconds until the next locked session may be free, whose run can be taken over then; undefined if none is locked
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
   * Refuses new runs and ends the active ones: a run may finish for half of `timeoutMs`, is stopped at its next commit in the other half,
   * and is aborted at the end. A live run ends when the model has finished its sentence. Requests that start no run are still answered.
   * Settles at the latest a second after `timeoutMs`, or two seconds if webhook messages are waiting; the next process sends the others.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** Admits WebSockets to the live runs of a server. `./node` and `@eventloom/cloudflare` call it. */
export interface LiveGate {
  /** The path of the WebSockets. */
  readonly path: string;
  /** The WebSocket subprotocol, which is confirmed to a client that offers it. */
  readonly protocol: string;
  /** Decides whether a request gets its WebSocket. Never rejects. */
  admit(request: Request): Promise<LiveAdmission>;
}

/**
 * Does what `createServer` does, with an empty router of the caller.
 *
 * @throws ConfigurationError for an invalid or unknown option, and for two runners with the same `appName`
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
