import { systemPlatform } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemorySessionService } from '@eventloom/sessions';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { protocolRunners } from './fixtures/protocol-runners.ts';
import { protocolTranscript } from './fixtures/protocol-transcript.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';

test('the Worker answers every route with the bytes that a server of one process answers', async () => {
  const transcript = await protocolTranscript((request) => protocolServer.handler.fetch(request, env));
  await expect(transcript).toMatchFileSnapshot('./fixtures/protocol.snap.txt');
});

test.each(['/version', '/openapi.json'])('the Worker answers %s as a server of one process does', async (path) => {
  const services = {
    sessionService: new InMemorySessionService(),
    artifactService: new InMemoryArtifactService(),
    platform: systemPlatform,
  };
  const server = createServer({ runners: protocolRunners(services) });
  const request = new Request(`http://localhost${path}`);
  const [here, there] = [await protocolServer.handler.fetch(request, env), await server.fetch(request)];
  expect([here.status, await here.text()]).toEqual([there.status, await there.text()]);
});
