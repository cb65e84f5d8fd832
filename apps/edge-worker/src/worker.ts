import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { dev, SpanStore } from '@eventloom/dev';
import { Gemini } from '@eventloom/gemini';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { Runner } from '@eventloom/runner';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { type AssetBinding, assetFiles, studio } from '@eventloom/studio';
import { createAgent, PROMPTS } from './agent.ts';
import { DiceModel } from './dice-model.ts';

interface Env extends CloudflareBindings {
  readonly ASSETS: AssetBinding;
  /** API key of Gemini. Absent: a model without a key answers. */
  readonly GEMINI_API_KEY?: string;
  /** Secret of the tokens. Absent: only requests to localhost are answered. */
  readonly JWT_SECRET?: string;
}

/** The spans of each user's latest runs, for Studio. They contain content, so they are kept only if no other machine can connect. */
const spans = new SpanStore({ maxBytes: 4 * 1024 * 1024 });

const server = createCloudflareServer<Env>({
  appNames: ['dice'],
  live: liveEndpoint(),
  protocols: ({ ASSETS, JWT_SECRET }) => [
    studio({ files: assetFiles(ASSETS), prompts: { dice: PROMPTS } }),
    ...(JWT_SECRET ? [] : [dev({ spans })]),
  ],
  runners: ({ GEMINI_API_KEY: apiKey, JWT_SECRET }, services) => {
    const model = apiKey ? new Gemini({ model: 'gemini-flash-latest', apiKey }) : new DiceModel();
    const instrumentation = JWT_SECRET ? undefined : spans;
    const agent = createAgent(model);
    return [new Runner({ appName: 'dice', agent, resumable: true, live: live(), instrumentation, ...services })];
  },
  authenticate: ({ JWT_SECRET: secret }) =>
    secret ? jwtAuthenticate({ secret, issuer: 'eventloom', audience: 'agents' }) : undefined,
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
