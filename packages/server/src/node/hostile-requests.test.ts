import { once } from 'node:events';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { InMemorySessionService } from '@eventloom/sessions';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseMalformed, type NodeServer, serve } from './serve.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

const MAX_BYTES = 100_000;
const failures: unknown[] = [];
const sessionService = new InMemorySessionService();
let server: NodeServer;

beforeAll(async () => {
  const limits = { maxBodyBytes: MAX_BYTES };
  const app = serveApp({ sessionService, limits, onError: (error) => failures.push(error) });
  server = await serve(app.server, { port: 0 });
});
afterAll(() => server.shutDown());

async function post(body: BodyInit, path = '/run'): Promise<{ status: number; json: unknown }> {
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' };
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, json: await response.json() };
}

/** Sends raw bytes, and returns the response up to the end of the connection. */
function sendRaw(...pieces: readonly string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect(server.port, '127.0.0.1', () => {
    for (const piece of pieces) socket.write(piece, 'latin1');
  });
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(answer));
  return promise;
}

test.each([
  ['a\x01b', 400, 'INVALID_REQUEST'],
  ['x'.repeat(40_000), 400, 'INVALID_REQUEST'],
  ['日本', 404, 'RUN_NOT_FOUND'],
  ['ä b', 404, 'RUN_NOT_FOUND'],
])('an invocation id that no header can have (%.20s) is answered with a code', async (invocationId, status, code) => {
  await sessionService.getOrCreateSession({ appName: 'app', userId: 'ann', sessionId: 'ids' });
  const session = '/apps/app/users/ann/sessions/ids';
  const body = { appName: 'app', userId: 'ann', sessionId: 'ids', invocationId };
  for (const path of ['/run', '/run_sse'])
    expect(await post(JSON.stringify(body), path)).toMatchObject({ status, json: { code } });
  expect(await post(JSON.stringify({ invocationId }), `${session}/runs`)).toMatchObject({ status, json: { code } });
});

describe('a body', () => {
  test.each([
    ['nothing', '', 'body: is missing; send {"appName", "userId", "sessionId", "newMessage"} as JSON'],
    ['blanks', '  \n', 'body: is missing; send {"appName", "userId", "sessionId", "newMessage"} as JSON'],
    ['no JSON', '{"appName": ', 'body: is not JSON'],
    ['a text', '"hi"', 'body: expected an object'],
    ['a list', '[]', 'body: expected an object'],
    ['null', 'null', 'body: expected an object'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'body: is not UTF-8 text'],
    ['depth', `${'['.repeat(40_000)}${']'.repeat(40_000)}`, 'body: is nested deeper than 256 levels'],
    ['a prototype', '{"__proto__": {"appName": "app"}}', 'appName: '],
  ])('of %s is refused with the reason', async (_what, body, error) => {
    const answer = await post(body);
    expect(answer).toEqual({
      status: 400,
      json: { error: expect.stringMatching(new RegExp(`^${error}`)), code: 'INVALID_REQUEST' },
    });
  });

  test('that is too large is refused by its Content-Length', async () => {
    expect(await post('x'.repeat(MAX_BYTES + 1))).toMatchObject({ status: 413, json: { code: 'BODY_TOO_LARGE' } });
  });

  test('that is too large and sent in chunks is refused without reading all of it', async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; sent < 1000; sent++) yield new Uint8Array(10_000).fill(0x20);
    }
    const body = Readable.toWeb(Readable.from(endless())) as ReadableStream;
    expect(await post(body)).toMatchObject({ status: 413, json: { code: 'BODY_TOO_LARGE' } });
    expect(sent).toBeLessThan(1000);
  });

  test('of exactly the maximum size is read', async () => {
    expect(await post(' '.repeat(MAX_BYTES))).toMatchObject({
      status: 400,
      json: { error: expect.stringContaining('body: is missing') },
    });
  });

  test('that ends early changes nothing and is not reported', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"appName"');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

describe('a request line', () => {
  test.each([
    ['a step up', 'GET /apps/app/users/../../../etc/passwd HTTP/1.1', 400],
    ['an encoded step up', 'GET /apps/app/users/ann/sessions/s/artifacts/..%2f..%2fetc%2fpasswd HTTP/1.1', 404],
    ['an encoded dot', 'GET /apps/app/users/%2e%2e/%2e%2e/%2e%2e/etc HTTP/1.1', 400],
    ['a lone percent sign', 'GET /apps/app/users/%/sessions HTTP/1.1', 400],
    ['bytes that are not UTF-8', 'GET /apps/app/users/%ff/sessions HTTP/1.1', 400],
    ['an address that is not a path', 'GET http://[/ HTTP/1.1', 400],
    ['a backslash', 'GET /apps\\app HTTP/1.1', 400],
    ['a method that nobody knows', 'BREW /run HTTP/1.1', 400],
    ['no HTTP at all', 'hello', 400],
    ['a path of 20,000 characters', `GET /${'x'.repeat(20_000)} HTTP/1.1`, 431],
  ])('with %s is answered with JSON', async (_what, line, status) => {
    const answer = await sendRaw(`${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\n\r\n\{"error":".+","code":"[A-Z_]+"\}$/);
  });

  test.each([
    'DELETE /apps/app/users/ann/sessions/x/artifacts/%2e%2e/%2e%2e/victim HTTP/1.1',
    'DELETE /apps/zzz/%2E./app/users/ann/sessions/victim HTTP/1.1',
    'DELETE /zzz\\..\\apps/app/users/ann/sessions/victim HTTP/1.1',
    'DELETE http://localhost/zzz/%2e%2e/apps/app/users/ann/sessions/victim HTTP/1.1',
  ])('with dot segments changes nothing: %s', async (line) => {
    const session = { appName: 'app', userId: 'ann', sessionId: 'victim' };
    await sessionService.deleteSession(session);
    await sessionService.createSession(session);
    const answer = await sendRaw(`${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"\}$/);
    expect(await sessionService.getSession(session)).toBeDefined();
  });

  test.each(['a b', 'evil.example@localhost', 'localhost/x'])('with the host %j is refused', async (host) => {
    const answer = await sendRaw(`GET /list-apps HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|403) /);
  });

  test('with two hosts is refused', async () => {
    const answer = await sendRaw(
      'GET /list-apps HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('with two lengths is refused', async () => {
    const answer = await sendRaw(
      'POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{}',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });
});

test('none of these requests is reported as a failure', () => {
  expect(failures).toEqual([]);
});

test('a request whose body does not arrive in time is answered with 408', async () => {
  const http = createHttpServer({ requestTimeout: 1, headersTimeout: 1, connectionsCheckingInterval: 1 });
  http.on('clientError', refuseMalformed);
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((http.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf');
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 408 /);
  expect(JSON.parse(body)).toEqual({
    error: 'the request did not arrive completely in time; send it again',
    code: 'INVALID_REQUEST',
  });
  http.close();
});

test('a client that sends many requests on a connection without waiting for answers is disconnected', async () => {
  const request = `GET /version HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n\r\n`;
  const few = await sendRaw(request.repeat(7), request.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
  expect(few.split('HTTP/1.1 200').length - 1).toBe(8);
  expect(await sendRaw(request.repeat(9))).toBe('');
});

test('a client that reads nothing of an answer for five heartbeats is disconnected, but not one that waits for its answer', async () => {
  const { server: app } = serveApp({ sessionService, limits: { heartbeatMs: 50 } });
  const gate = Promise.withResolvers<void>();
  app.app.get('/large', () => new Response('x'.repeat(20_000_000)));
  app.app.get('/late', async () => gate.promise.then(() => new Response('late')));
  const closed = Promise.withResolvers<void>();
  const watch = (message: unknown): void => {
    const { request, socket } = message as { readonly request: IncomingMessage; readonly socket: Socket };
    if (request.url === '/large') socket.once('close', () => closed.resolve());
  };
  subscribe('http.server.request.start', watch);
  const own = await serve(app, { port: 0 });
  const late = fetch(`${own.url}/late`);
  const stalled = connect(own.port, '127.0.0.1');
  stalled.on('error', () => undefined);
  stalled.write('GET /large HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  await closed.promise;
  unsubscribe('http.server.request.start', watch);
  stalled.destroy();
  gate.resolve();
  expect(await (await late).text()).toBe('late');
  await own.shutDown();
});
