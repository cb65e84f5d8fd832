import { systemPlatform } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { protocolRunners } from './fixtures/protocol-runners.ts';
import { protocolTranscript } from './fixtures/protocol-transcript.ts';

test('a server of one process answers every route of the protocol', async () => {
  const services = {
    sessionService: new InMemorySessionService(),
    artifactService: new InMemoryArtifactService(),
    platform: systemPlatform,
  };
  const server = createServer({
    runners: protocolRunners(services),
    limits: { maxBodyBytes: 4000 },
    onError: () => undefined,
  });
  const transcript = await protocolTranscript(async (request) => server.fetch(request));
  await expect(transcript).toMatchFileSnapshot('./fixtures/protocol.snap.txt');
});
