import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { dev, SpanStore } from '@eventloom/dev';
import { liveEndpoint } from '@eventloom/live/server';
import { createRunners } from './agent.ts';

const spans = new SpanStore();
interface Env extends CloudflareBindings {
  /** The files of adk-web. */
  readonly ASSETS: { fetch(url: string): Promise<Response> };
}

const server = createCloudflareServer<Env>({
  appNames: ['plain', 'resumable', 'voice', 'bidi-demo'],
  live: liveEndpoint(),
  protocols: ({ ASSETS }) => [
    dev({
      spans,
      ui: async (path) => {
        const response = await ASSETS.fetch(`https://assets/${path}`);
        return response.ok ? new Uint8Array(await response.arrayBuffer()) : undefined;
      },
    }),
  ],
  runners: (_env, services) => createRunners(services, spans),
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
