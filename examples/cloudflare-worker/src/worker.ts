import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { Runner } from '@eventloom/runner';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { createAgent } from './agent.ts';

interface Env extends CloudflareBindings {
  readonly GEMINI_API_KEY: string;
  readonly JWT_SECRET: string;
}

const server = createCloudflareServer<Env>({
  appNames: ['helper'],
  runners: (env, services) => {
    const agent = createAgent(env.GEMINI_API_KEY);
    return [new Runner({ appName: 'helper', agent, resumable: true, ...services })];
  },
  authenticate: (env) => jwtAuthenticate({ secret: env.JWT_SECRET, issuer: 'my-login', audience: 'my-agents' }),
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
