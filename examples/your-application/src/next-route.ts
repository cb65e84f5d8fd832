// app/agents/[...path]/route.ts
import type { EventloomServer } from '@eventloom/server';

type Handler = (request: Request) => Promise<Response>;

/** Returns the handlers of a route of Next.js: `export const { GET, POST, PATCH, DELETE } = nextHandlers(agents);` */
export function nextHandlers(agents: EventloomServer): Record<'GET' | 'POST' | 'PATCH' | 'DELETE', Handler> {
  const handle: Handler = async (request) => agents.fetch(request);
  return { GET: handle, POST: handle, PATCH: handle, DELETE: handle };
}
