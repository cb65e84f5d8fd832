import { Hono } from 'hono';
import { createServerOn, type EventloomServer, type LiveGate } from './create-server-on.ts';
import { routerBelow } from './http/base-path.ts';
import type { ServerOptions } from './server-options.ts';

export type { EventloomServer, LiveGate };

/**
 * Creates an HTTP server for the apps of the given runners, with the routes of the ADK's server: sessions, artifacts,
 * `/run`, `/run_sse`. A run continues when its client disconnects, and the client can reconnect later. The result has
 * `fetch(request)`, which takes a web `Request` and resolves to a `Response`; `serve` of `@eventloom/server/node`
 * listens on a port with it.
 *
 * Without `authenticate` it answers only requests to this machine (`localhost`).
 * @throws ConfigurationError for an invalid or unknown option, and for two runners with the same `appName`
 *
 * @example
 * import { createServer } from '@eventloom/server';
 * import { serve } from '@eventloom/server/node';
 *
 * const server = createServer({ runners: [runner] });
 * const { url } = await serve(server, { port: 8000 });
 */
export function createServer(options: ServerOptions): EventloomServer {
  return createServerOn(new Hono(routerBelow(options?.basePath)), options);
}
