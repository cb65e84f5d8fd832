import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { Runner } from '@eventloom/runner';
import { createAgent } from './agent.ts';

const server = createCloudflareServer<CloudflareBindings>({
  appNames: ['plain', 'resumable'],
  runners: (_env, services) => [
    new Runner({ appName: 'plain', agent: createAgent(), ...services }),
    new Runner({ appName: 'resumable', agent: createAgent(), resumable: true, ...services }),
  ],
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
