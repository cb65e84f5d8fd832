import { Hono } from 'hono';
import { createServerOn, type EventloomServer, type LiveGate } from './create-server-on.ts';
import type { ServerOptions } from './server-options.ts';

export type { EventloomServer, LiveGate };

/**
 * The HTTP server of the ADK over any number of apps, with what it does not have: runs that outlive their connection.
 * @throws ConfigurationError for what cannot work
 */
export function createServer(options: ServerOptions): EventloomServer {
  return createServerOn(new Hono(), options);
}
