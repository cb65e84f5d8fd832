import type { EventloomServer } from '@eventloom/server';
import { Hono } from 'hono';

export function createHonoApp(agents: EventloomServer): Hono {
  const app = new Hono();
  app.get('/', (context) => context.text('our shop'));
  app.mount('/agents', agents.fetch);
  return app;
}
