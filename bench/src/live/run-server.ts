import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import type { Listening } from './bare-relay.ts';
import { ConnectedModel } from './calls.ts';
import { notingClient } from './noting-client.ts';

/** A server over runners with one app per model, which has the model's name. Sessions are created on demand. */
export async function startRunServer(
  geminiUrl: string,
  models: readonly string[],
  onFrame: (model: string, atMs: number) => void,
  onConnected: () => void,
): Promise<Listening> {
  const sessionService = new InMemorySessionService();
  const runners = models.map((model) => {
    const client = notingClient(geminiUrl, (atMs) => onFrame(model, atMs));
    const agent = new LlmAgent({ name: 'agent', model: new ConnectedModel({ model, client }, onConnected) });
    return new Runner({ appName: model, agent, live: live(), sessionService, autoCreateSession: true });
  });
  const server = createServer({ runners, live: liveEndpoint() });
  const listening = await serve(server, { port: 0 });
  return { url: listening.url.replace('http', 'ws'), close: () => listening.shutDown() };
}
