import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { dev, SpanStore } from '@eventloom/dev';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { Runner } from '@eventloom/runner';
import { createAgent, createSpeaker, createVideoSpeaker } from './agent.ts';

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
  runners: (_env, services) => [
    new Runner({ appName: 'plain', agent: createAgent(), instrumentation: spans, ...services }),
    new Runner({ appName: 'resumable', agent: createAgent(), resumable: true, instrumentation: spans, ...services }),
    new Runner({ appName: 'voice', agent: createSpeaker(), live: live(), ...services }),
    new Runner({
      appName: 'bidi-demo',
      agent: createVideoSpeaker(),
      live: live(),
      autoCreateSession: true,
      ...services,
    }),
  ],
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
