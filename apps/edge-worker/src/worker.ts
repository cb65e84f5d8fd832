import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
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
  /** Key of Gemini. Absent: a model that needs no key answers. */
  readonly GEMINI_API_KEY?: string;
  /** Secret of the tokens. Absent: only requests to localhost are answered. */
  readonly JWT_SECRET?: string;
}

const server = createCloudflareServer<Env>({
  appNames: ['dice'],
  live: liveEndpoint(),
  protocols: ({ ASSETS }) => [studio({ files: assetFiles(ASSETS), prompts: { dice: PROMPTS } })],
  runners: ({ GEMINI_API_KEY: apiKey }, services) => {
    const model = apiKey ? new Gemini({ model: 'gemini-flash-latest', apiKey }) : new DiceModel();
    return [new Runner({ appName: 'dice', agent: createAgent(model), resumable: true, live: live(), ...services })];
  },
  authenticate: ({ JWT_SECRET: secret }) =>
    secret ? jwtAuthenticate({ secret, issuer: 'eventloom', audience: 'agents' }) : undefined,
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
