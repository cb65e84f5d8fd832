import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { Gemini } from '@eventloom/gemini';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { Runner } from '@eventloom/runner';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { createAgent } from './agent.ts';

interface Env extends CloudflareBindings {
  readonly GEMINI_API_KEY: string;
  readonly JWT_SECRET: string;
}

const server = createCloudflareServer<Env>({
  appNames: ['dice'],
  live: liveEndpoint(),
  runners: (env, services) => {
    const model = new Gemini({ model: 'gemini-flash-latest', apiKey: env.GEMINI_API_KEY });
    return [new Runner({ appName: 'dice', agent: createAgent(model), resumable: true, live: live(), ...services })];
  },
  authenticate: (env) => jwtAuthenticate({ secret: env.JWT_SECRET, issuer: 'eventloom', audience: 'agents' }),
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
