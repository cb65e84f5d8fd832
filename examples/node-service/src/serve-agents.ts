import { createServer } from '@eventloom/server';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { type NodeServer, serve, shutDownOnSignal } from '@eventloom/server/node';
import type { Runner } from 'eventloom';
import { chatProtocol } from './chat-protocol.ts';
import { decideRunConfig } from './decide-run-config.ts';

/** Serves a runner to authenticated users. */
export async function serveAgents(runner: Runner, secret: string, port = 8000): Promise<NodeServer> {
  const server = createServer({
    runners: [runner],
    authenticate: jwtAuthenticate({ secret, issuer: 'my-login', audience: 'my-agents' }),
    runConfig: decideRunConfig,
    protocols: [chatProtocol],
    origins: ['https://app.example'],
    limits: { maxRuns: 200, maxBodyBytes: 2 * 1024 * 1024 },
  });
  const listening = await serve(server, { host: '0.0.0.0', port, drainMs: 20_000 });
  shutDownOnSignal(listening, () => void runner.close().then(() => process.exit(0)));
  return listening;
}
