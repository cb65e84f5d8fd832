import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { type NodeServer, serve } from './serve.ts';

const SESSION = '/apps/app/users/ann/sessions/s';
let server: NodeServer;

beforeAll(async () => {
  const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const limits = { maxBodyBytes: 800_000, maxBodyBytesInFlightPerUser: 1_000_000 };
  server = await serve(createServer({ runners: [runner], limits }), { port: 0, drainMs: 0 });
});
afterAll(() => server.shutDown());

/** Announces 800,000 bytes for a session of Ann, and sends fewer. */
async function beginBody(bytes: number): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const head = `PATCH ${SESSION} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 800000\r\n\r\n`;
  await new Promise((resolve) => socket.write(head + ' '.repeat(bytes), resolve));
  return socket;
}

async function send(userId: string): Promise<{ status: number; code: unknown }> {
  const address = `${server.url}/apps/app/users/${userId}/sessions/s`;
  const answer = await fetch(address, { method: 'PATCH', body: `{"stateDelta":{"a":"${'x'.repeat(600_000)}"}}` });
  return { status: answer.status, code: ((await answer.json()) as { code: unknown }).code };
}

test('bytes of a stalled client count for its user until it disconnects', async () => {
  const slow = await beginBody(500_000);
  await expect.poll(() => send('ann')).toEqual({ status: 429, code: 'USER_LIMIT' });
  expect((await send('bob')).code).toBe('SESSION_NOT_FOUND');
  slow.destroy();
  await expect.poll(async () => (await send('ann')).code).toBe('SESSION_NOT_FOUND');
});

test('only received bytes count, not the announced length', async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => beginBody(10)));
  // The first bytes may arrive before the others.
  for (let time = 0; time < 5; time++) expect((await send('ann')).code).toBe('SESSION_NOT_FOUND');
  for (const socket of sockets) socket.destroy();
});
