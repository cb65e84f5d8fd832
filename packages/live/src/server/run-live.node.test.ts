import { InMemoryArtifactService } from '@eventloom/artifacts';
import { systemPlatform } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { afterEach } from 'vitest';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { callServer } from './fixtures/call-server.ts';
import { liveSuite } from './fixtures/live-suite.ts';
import { voice, voiceRunner } from './fixtures/voice-runner.ts';
import { liveEndpoint } from './live-endpoint.ts';

const servers: NodeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.shutDown();
});

liveSuite(async (limits) => {
  const services = {
    sessionService: new InMemorySessionService(),
    artifactService: new InMemoryArtifactService(),
    platform: systemPlatform,
  };
  const app = createServer({
    runners: [voiceRunner(services)],
    live: liveEndpoint(),
    limits,
    runConfig: (...asked) => voice.runConfig?.(...asked),
    onError: () => undefined,
  });
  const server = await serve(app, { port: 0, drainMs: 100 });
  servers.push(server);
  return {
    fetch: (path, init) => fetch(`${server.url}${path}`, init),
    call: (query, headers) => callServer(server, query, { headers: { host: 'localhost', ...headers } }),
  };
});
