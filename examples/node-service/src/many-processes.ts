import { createServer, type EventloomServer } from '@eventloom/server';
import { PostgresRunRelay } from '@eventloom/server/postgres';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { type BaseLlm, Runner } from 'eventloom';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'pg';
import { createAgent } from './agent.ts';

/** Creates the server of one process. Several processes serve the same agents over one PostgreSQL. */
export function createSharedServer(
  url: string,
  model: BaseLlm,
): { server: EventloomServer; close: () => Promise<void> } {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 5000 });
  pool.on('error', (error) => console.error(error));
  const sessionService = new PostgresSessionService({ pool });
  const runner = new Runner({
    appName: 'restaurant',
    agent: createAgent(model),
    sessionService,
    autoCreateSession: true,
  });
  const relay = new PostgresRunRelay({ pool });
  const close = async (): Promise<void> => {
    await relay.close();
    // A database that does not answer must not keep the process alive.
    await Promise.race([pool.end(), setTimeout(2000, undefined, { ref: false })]);
  };
  return { server: createServer({ runners: [runner], relay }), close };
}
