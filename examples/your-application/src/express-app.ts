import type { EventloomServer } from '@eventloom/server';
import { nodeListener } from '@eventloom/server/node';
import express from 'express';

export function createExpressApp(agents: EventloomServer): express.Application {
  const app = express();
  // Before handlers that read the body.
  app.use('/agents', nodeListener(agents));
  app.use(express.json());
  app.get('/', (_request, response) => void response.end('our shop'));
  return app;
}
