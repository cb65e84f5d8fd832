import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { ConfigurationError } from '@eventloom/core';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { createServer, type EventloomServer } from '../create-server.ts';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import type { ServerOptions } from '../server-options.ts';
import { serve } from './serve.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

function createApp(steps: readonly ScriptedStep[], options: Omit<ServerOptions, 'runners'> = {}): EventloomServer {
  return serveApp({ steps, runner: { autoCreateSession: true }, limits: { respondAfterMs: 0 }, ...options }).server;
}

const ASK = JSON.stringify({
  appName: 'app',
  userId: 'ann',
  sessionId: 's',
  newMessage: { parts: [{ text: 'hi' }] },
  streaming: true,
});

describe('listening', () => {
  test('logs its address', async () => {
    const server = await serve(createApp([]), { port: 0 });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(await (await fetch(`${server.url}/list-apps`)).json()).toEqual(['app']);
    await server.shutDown();
  });

  test('on a port in use fails with its number', async () => {
    const server = await serve(createApp([]), { port: 0 });
    await expect(serve(createApp([]), { port: server.port })).rejects.toThrow(/another process listens there/);
    await server.shutDown();
  });

  test('on an address that others can reach needs authenticate or allowUnauthenticated', async () => {
    await expect(serve(createApp([]), { port: 0, host: '0.0.0.0' })).rejects.toThrow(ConfigurationError);
    const server = await serve(createApp([], { allowUnauthenticated: true }), { port: 0, host: '0.0.0.0' });
    await server.shutDown();
  });
});

test('requests and responses of the process keep the method bytes', async () => {
  const app = createApp([]);
  app.app.post('/echo', async ({ req }) => new Response(await req.raw.bytes()));
  const server = await serve(app, { port: 0 });
  expect(await (await fetch(`${server.url}/echo`, { method: 'POST', body: 'hi' })).text()).toBe('hi');
  const bytes = new TextEncoder().encode('hi');
  expect(await new Response('hi').bytes()).toEqual(bytes);
  expect(await new Request(server.url, { method: 'POST', body: 'hi' }).bytes()).toEqual(bytes);
  await server.shutDown();
});

test('a run that ends immediately is written in one piece: headers with the length, and all frames', async () => {
  const writes: string[] = [];
  const note = (message: unknown): void => noteWrites((message as { socket: Socket }).socket, writes);
  subscribe('net.server.socket', note);
  const server = await serve(createApp(['done']), { port: 0 });
  const response = await fetch(`${server.url}/run_sse`, { method: 'POST', body: ASK });
  const body = await response.text();
  expect(response.headers.get('content-length')).toBe(String(body.length));
  expect(writes).toEqual([expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n[^]*"done"[^]*\n\n$/)]);
  unsubscribe('net.server.socket', note);
  await server.shutDown();
});

/** Records the data that each write passes to the operating system. */
function noteWrites(socket: Socket, writes: string[]): void {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, ...rest) => {
    writes.push(String(chunk));
    write(chunk, ...rest);
  };
  socket._writev = (chunks, done) => {
    writes.push(chunks.map(({ chunk }) => String(chunk)).join(''));
    writev?.(chunks, done);
  };
}

describe('shutting down', () => {
  test('lets a run finish, tells its reader to reconnect, and closes', async () => {
    const gate = new Gate();
    const server = await serve(createApp([{ chunks: [gate, 'late'] }]), { port: 0, drainMs: 60_000 });
    const response = await fetch(`${server.url}/run_sse`, { method: 'POST', body: ASK });
    await gate.reached;
    const closed = server.shutDown();
    gate.open();
    const text = await response.text();
    await closed;
    expect(text).toMatch(/^retry: 2000\n\n/);
    expect(text.match(/"late"/g)).toHaveLength(2);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });

  test('stops a run after the drain time and logs it', async () => {
    const server = await serve(createApp([{ text: 'never', gate: new Gate() }]), { port: 0, drainMs: 20 });
    const response = await fetch(`${server.url}/run_sse`, { method: 'POST', body: ASK });
    const closed = server.shutDown();
    expect(await response.text()).toContain('"code":"RUN_ABORTED"');
    await closed;
  });

  test('starts no run during the drain', async () => {
    const gate = new Gate();
    const app = createApp([{ text: 'late', gate }]);
    const server = await serve(app, { port: 0 });
    const response = await fetch(`${server.url}/run_sse`, { method: 'POST', body: ASK });
    const closed = server.shutDown();
    const refused = await app.fetch(new Request('http://localhost/run', { method: 'POST', body: ASK }));
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'SHUTTING_DOWN' }]);
    expect((await app.fetch(new Request('http://localhost/readyz'))).status).toBe(503);
    gate.open();
    await response.text();
    await closed;
  });

  test('may be called twice', async () => {
    const server = await serve(createApp([]), { port: 0 });
    expect(server.shutDown()).toBe(server.shutDown());
    await server.shutDown();
  });
});

test('serve keeps an idle connection for longer than load balancers do, so that no request is sent over a closing one', async () => {
  const server = await serve(createApp([]), { port: 0 });
  const { headers } = await fetch(`${server.url}/livez`);
  expect(headers.get('keep-alive')).toBe('timeout=65');
  await server.shutDown();
});

test('createServer says what to write when it gets nothing', () => {
  expect(() => createServer(undefined as never)).toThrow(
    'createServer: expected an object of options, got nothing; write createServer({ runners: [new Runner({ appName, agent, sessionService })], authenticate })',
  );
});

test.each([undefined, 5, {}, { runAsync: () => undefined }])(
  'serve throws ConfigurationError for %o as the server',
  async (server) => {
    await expect(serve(server as never)).rejects.toThrow(
      /^serve: expected the result of createServer, got .*; write serve\(createServer\(\{ runners: \[runner\] \}\)\)$/,
    );
  },
);

test('serve throws ConfigurationError for a port that is a string', async () => {
  await expect(serve(createApp([]), { port: '80' as never })).rejects.toThrow(
    /^serve: port: expected an integer from 0 to 65535, got a string; write port: Number\(process\.env\.PORT\)$/,
  );
});

describe('a time that a timer cannot have', () => {
  // Infinity is a value of `maxRunMs`: no limit.
  const times = Object.keys(DEFAULT_LIMITS).filter((limit) => limit.endsWith('Ms') && limit !== 'maxRunMs');
  const DAY_MS = 86_400_000;

  test.each(times)('is refused as limits.%s, because the timer would end at once', (limit) => {
    const create = (value: number) => (): unknown => createServer({ runners: [], limits: { [limit]: value } });
    expect(create(DAY_MS)).not.toThrow();
    for (const value of [Infinity, 2 ** 30, -1, Number.NaN])
      expect(create(value)).toThrow(
        new RegExp(
          `^createServer: limits: ${limit}: expected a number from [01] to ${DAY_MS}, got .*; write ${limit}: 10000$`,
        ),
      );
  });

  test('is refused as heartbeatMs: 0, which would send without a pause', () => {
    expect(() => createServer({ runners: [], limits: { heartbeatMs: 0 } })).toThrow(
      'createServer: limits: heartbeatMs: expected a number from 1 to 86400000, got the number 0; write heartbeatMs: 10000',
    );
  });

  test.each(['drainMs', 'unreadyMs'])('is refused as %s of serve', async (option) => {
    await expect(serve(createApp([]), { port: 0, [option]: Infinity })).rejects.toThrow(
      `serve: ${option}: expected a number from 0 to ${DAY_MS}, got the number Infinity; write ${option}: 10000`,
    );
  });
});
