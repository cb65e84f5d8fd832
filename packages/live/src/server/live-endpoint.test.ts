import { ConfigurationError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer, type EventloomServer, type ServerOptions } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedLiveModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { live } from '../live.ts';
import { liveEndpoint } from './live-endpoint.ts';

function setUp(options: Partial<ServerOptions> = {}): EventloomServer {
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedLiveModel([]) });
  const runner = new Runner({ appName: 'app', agent, live: live(), sessionService: new InMemorySessionService() });
  return createServer({ runners: [runner], ...options });
}

async function get(server: EventloomServer, path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await server.fetch(new Request(`http://localhost${path}`));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('a server with liveEndpoint describes it in OpenAPI and answers plain requests with 426', async () => {
  const server = setUp({ live: liveEndpoint() });
  const { paths } = (await get(server, '/openapi.json')).body as { paths: Record<string, { get?: object }> };
  const operation = paths['/run_live']?.get;
  expect(operation).toMatchObject({ operationId: 'runLive', responses: { 101: {}, 426: {} } });
  const { status, body } = await get(server, '/run_live');
  expect(status).toBe(426);
  expect(body).toMatchObject({ code: 'UPGRADE_REQUIRED', error: expect.any(String) });
});

test('a server without liveEndpoint has no such path and admits no live runs', async () => {
  const server = setUp();
  expect(server.live).toBeUndefined();
  const { paths } = (await get(server, '/openapi.json')).body as { paths: object };
  expect(Object.keys(paths)).not.toContain('/run_live');
  expect((await get(server, '/run_live')).status).toBe(404);
});

test('createServer refuses a live endpoint of another type', () => {
  const options = { live: liveEndpoint } as unknown as Partial<ServerOptions>;
  expect(() => setUp(options)).toThrow(ConfigurationError);
});
