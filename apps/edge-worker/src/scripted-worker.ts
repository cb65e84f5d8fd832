import { Runner } from '@eventloom/runner';
import { type CloudflareBindings, createCloudflareServer } from '@eventloom/server/cloudflare';
import { ScriptedModel } from '@eventloom/testing';
import { createAgent } from './agent.ts';

/** The same without a model of somebody else's, and for localhost only: to try it, and to measure what the runtime itself takes. */
const server = createCloudflareServer<CloudflareBindings>({
  runners: (_env, services) => {
    const model = new ScriptedModel([{ calls: [{ name: 'roll_die' }] }, 'There it is.']);
    return [new Runner({ appName: 'dice', agent: createAgent(model), resumable: true, ...services })];
  },
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
