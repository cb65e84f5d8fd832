import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NodeServer, serve } from './serve.ts';
import { serveApp, SESSION } from '../fixtures/server-scenario.ts';

let server: NodeServer;

beforeAll(async () => {
  const limits = { maxBodyBytes: 800_000, maxBodyBytesInFlightPerUser: 1_000_000 };
  server = await serve(serveApp({ limits }).server, { port: 0, drainMs: 0 });
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

test.each([
  ['exceeds the bytes of its user', 500_000, 'Content-Length: 800000\r\n\r\n', ' '.repeat(800_000), 429],
  ['is longer than a body may be', 0, 'Transfer-Encoding: chunked\r\n\r\n', chunked(' '.repeat(4_000_000)), 413],
])(
  'a connection stays open for the next request after a body that %s is refused',
  async (_what, usedBytes, head, body, status) => {
    const slow = await beginBody(usedBytes);
    await expect.poll(async () => (await send('ann')).status).toBe(usedBytes > 0 ? 429 : 404);
    const socket = connect(server.port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    socket.on('close', () => (received += 'closed'));
    socket.write(`PATCH ${SESSION} HTTP/1.1\r\nHost: localhost\r\n${head}${body}`);
    await expect.poll(() => received).toContain('"code"');
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await expect.poll(() => received).toMatch(/"status":"ok"|closed/);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*HTTP/1.1 200 `));
    socket.destroy();
    slow.destroy();
  },
);

function chunked(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}
