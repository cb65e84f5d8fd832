/** Serves the scenarios on `wrangler dev`, with the configuration of the edge app. */
import { env } from 'cloudflare:workers';
import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { dev, SpanStore } from '@eventloom/dev';
import { liveEndpoint } from '@eventloom/live/server';
import { type AssetBinding, assetFiles, studio } from '@eventloom/studio';
import { scenarioRunners } from './scenario-runners.ts';

interface Env extends CloudflareBindings {
  readonly ASSETS: AssetBinding;
  readonly MODEL_URL: string;
}

const spans = new SpanStore();
const server = createCloudflareServer<Env>({
  appNames: ['app', 'ways', 'voice'],
  live: liveEndpoint(),
  onUnfinishedRuns: Reflect.get(env, 'UNFINISHED') === 'leave' ? 'leave' : 'resume',
  protocols: ({ ASSETS }) => [studio({ files: assetFiles(ASSETS) }), dev({ spans })],
  runners: ({ MODEL_URL }, services) => scenarioRunners(MODEL_URL, { ...services, instrumentation: spans }),
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
