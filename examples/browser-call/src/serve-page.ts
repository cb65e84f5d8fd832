import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { geminiModels } from '@eventloom/gemini';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { createParrot } from './parrot.ts';

/** Options of the server. */
export interface ServePageOptions {
  /** The key of Gemini, which answers the calls; if empty, a parrot answers. */
  readonly apiKey: string;
  /** 0 chooses a free port. */
  readonly port: number;
}

/** Serves the page and its agent on one port. Resolves when both can be reached. */
export function servePage({ apiKey, port }: ServePageOptions): Promise<NodeServer> {
  const agent = new LlmAgent({
    name: 'operator',
    model: apiKey === '' ? createParrot() : 'gemini-3.1-flash-live-preview',
    instruction: 'You are on the telephone. Be brief.',
  });
  const runner = new Runner({
    appName: 'phone',
    agent,
    live: live(),
    models: geminiModels({ apiKey }),
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  const server = createServer({ runners: [runner], live: liveEndpoint() });
  const folder = join(import.meta.dirname, '..');
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const script = stripTypeScriptTypes(readFileSync(join(folder, 'src/call.ts'), 'utf8'));
  server.app.get('/', (context) => context.html(page));
  server.app.get('/call.js', (context) => context.body(script, 200, { 'content-type': 'text/javascript' }));
  return serve(server, { port, drainMs: 1000 });
}
