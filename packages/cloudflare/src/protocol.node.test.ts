import { systemPlatform } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemorySessionService } from '@eventloom/sessions';
import { afterEach, expect, test } from 'vitest';
import { liveEndpoint } from '@eventloom/live/server';
import { createServer, type ServerOptions } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { protocolAuthenticate } from './fixtures/protocol-worker.ts';
import { protocolRunners } from './fixtures/protocol-runners.ts';
import { type Asked, protocolTranscript } from './fixtures/protocol-transcript.ts';
import { refusalsTranscript } from './fixtures/refusals-transcript.ts';

const servers: NodeServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.shutDown())));

/** A server in one process, which is called over its socket. */
async function listen(options: Pick<ServerOptions, 'authenticate'> = {}): Promise<Asked> {
  const services = {
    sessionService: new InMemorySessionService(),
    artifactService: new InMemoryArtifactService(),
    platform: systemPlatform,
  };
  const server = createServer({
    live: liveEndpoint(),
    runners: protocolRunners(services),
    limits: { maxBodyBytes: 4000 },
    onError: () => undefined,
    ...options,
  });
  const listening = await serve(server, { port: 0 });
  servers.push(listening);
  return { fetch: (request) => fetch(request), origin: listening.url };
}

test('a server on node answers every route of the protocol', async () => {
  await expect(await protocolTranscript(await listen())).toMatchFileSnapshot('./fixtures/protocol.snap.txt');
});

test('a server on node with authenticate answers every route of the protocol', async () => {
  const asked = await listen({ authenticate: protocolAuthenticate });
  const transcript = await protocolTranscript({ ...asked, headers: { authorization: 'ann' } });
  await expect(transcript).toMatchFileSnapshot('./fixtures/protocol.snap.txt');
});

test('a server on node refuses invalid requests', async () => {
  const asked = await listen({ authenticate: protocolAuthenticate });
  await expect(await refusalsTranscript(asked)).toMatchFileSnapshot('./fixtures/refusals.snap.txt');
});
