import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { Runner } from '@eventloom/runner';
import { createAgent } from './agent.ts';
import { DiceModel } from './dice-model.ts';

/** The same Worker with a scripted model, for localhost only: for trials, and for measurements of the runtime alone. */
const server = createCloudflareServer<CloudflareBindings>({
  appNames: ['dice'],
  live: liveEndpoint(),
  runners: (_env, services) => {
    const agent = createAgent(new DiceModel());
    return [new Runner({ appName: 'dice', agent, resumable: true, live: live(), ...services })];
  },
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
