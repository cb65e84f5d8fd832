import { reset } from 'cloudflare:test';
import { exports } from 'cloudflare:workers';
import { systemPlatform } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemorySessionService } from '@eventloom/sessions';
import { afterEach, expect, test } from 'vitest';
import { liveEndpoint } from '@eventloom/live/server';
import { createServer } from '@eventloom/server';
import { testProtocols } from './fixtures/note-protocol.ts';
import { protocolRunners } from './fixtures/protocol-runners.ts';
import { protocolTranscript } from './fixtures/protocol-transcript.ts';
import { refusalsTranscript } from './fixtures/refusals-transcript.ts';

const fetch = (request: Request): Promise<Response> => exports.default.fetch(request);
const open = { fetch, origin: 'http://localhost' };
const guarded = { fetch, origin: 'https://guarded.example' };
afterEach(reset);

test('the Worker answers every route with the same bytes as a server on node', async () => {
  await expect(await protocolTranscript(open)).toMatchFileSnapshot('./fixtures/protocol.snap.txt');
});

test('a Worker with authenticate answers with the same bytes as a server on node', async () => {
  const transcript = await protocolTranscript({ ...guarded, headers: { authorization: 'ann' } });
  await expect(transcript).toMatchFileSnapshot('./fixtures/protocol.snap.txt');
});

test('the Worker refuses invalid requests with the same bytes as a server on node', async () => {
  await expect(await refusalsTranscript(guarded)).toMatchFileSnapshot('./fixtures/refusals.snap.txt');
});

test.each(['/version', '/openapi.json'])('the Worker answers %s as a server of one process does', async (path) => {
  const services = {
    sessionService: new InMemorySessionService(),
    artifactService: new InMemoryArtifactService(),
    platform: systemPlatform,
  };
  const server = createServer({ runners: protocolRunners(services), live: liveEndpoint(), protocols: testProtocols });
  const request = new Request(`http://localhost${path}`);
  const [here, there] = [await fetch(request), await server.fetch(request)];
  expect([here.status, await here.text()]).toEqual([there.status, await there.text()]);
});

test('a protocol on a Worker gets the body of a route that declares no schema for it', async () => {
  const request = new Request('http://localhost/echo/app/ann', { method: 'POST', body: 'hello' });
  const response = await fetch(request);
  expect([response.status, await response.text()]).toEqual([200, 'hello']);
});
