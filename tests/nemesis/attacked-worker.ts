// The attacked server as a Worker. It reports each step to the program at WATCHER, and takes the step when that is
// answered.

import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { Runner } from '@eventloom/runner';
import { createAgents, type AgentStep, WEBHOOK_SECRET } from './attacked-agent.ts';

interface Env extends CloudflareBindings {
  readonly WATCHER: string;
  readonly PACE_MS: string;
  readonly SLOW_MS: string;
  readonly LEASE_MS: string;
  readonly WEBHOOKS_TO: string;
}

const server = createCloudflareServer<Env>({
  appNames: ['front', 'front-once', 'crew', 'crew-once'],
  live: liveEndpoint(),
  webhooks: (env) => ({ secret: WEBHOOK_SECRET, origins: [env.WEBHOOKS_TO] }),
  runners: (env, services) => {
    const agents = createAgents({
      paceMs: Number(env.PACE_MS),
      slowMs: Number(env.SLOW_MS),
      pause: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
      async step(step: AgentStep) {
        await (await fetch(env.WATCHER, { method: 'POST', body: JSON.stringify(step) })).text();
      },
    });
    return Object.entries(agents).flatMap(([name, agent]) =>
      [true, false].map(
        (resumable) =>
          new Runner({
            appName: resumable ? name : `${name}-once`,
            agent,
            resumable,
            autoCreateSession: true,
            leaseTtlMs: Number(env.LEASE_MS),
            live: live(),
            ...services,
          }),
      ),
    );
  },
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
