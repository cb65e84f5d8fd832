import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { type LiveLlmResponse, systemPlatform } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate } from '@eventloom/testing';
import { SignJWT } from 'jose';
import { afterEach, expect, test } from 'vitest';
import { createServer, type ServerOptions } from '@eventloom/server';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { type NodeServer, serve } from '@eventloom/server/node';
import { callServer } from './fixtures/call-server.ts';
import { speakWith, voiceRunner } from './fixtures/voice-runner.ts';
import { liveEndpoint } from './live-endpoint.ts';

const QUERY = 'app_name=voice&user_id=ann&session_id=s';
const SECRET = 'a secret of the tests, which is long enough';
const END: LiveLlmResponse = { turnComplete: true };

const servers: NodeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.shutDown();
});

async function start(options: Omit<ServerOptions, 'runners'> = {}, drainMs = 100): Promise<NodeServer> {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'voice', userId: 'ann', sessionId: 's' });
  const services = { sessionService, artifactService: new InMemoryArtifactService(), platform: systemPlatform };
  const app = createServer({
    runners: [voiceRunner(services)],
    live: liveEndpoint(),
    onError: () => undefined,
    ...options,
  });
  const server = await serve(app, { port: 0, drainMs });
  servers.push(server);
  return server;
}

function hello(text: string): string {
  return JSON.stringify({ content: { parts: [{ text }] } });
}

/** Sends raw bytes, and returns what is received until the connection ends. */
async function sendRaw({ port }: NodeServer, text: string): Promise<string> {
  let answer = '';
  const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return answer;
}

const HANDSHAKE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

test('frames that a client sends without a pause are taken one in each turn, so that others are served in between', async () => {
  const FRAMES = 300;
  const server = await start();
  speakWith([{ heard: 'content' }, END]);
  const { webSocket } = await callServer(server, QUERY);
  let turns = 0;
  let isDone = false;
  const countTurns = (): void => {
    turns++;
    if (!isDone) setImmediate(countTurns);
  };
  const answered = new Promise<void>((resolve) => {
    let answers = 0;
    webSocket.on('message', () => ++answers === FRAMES && resolve());
  });
  countTurns();
  for (let count = 0; count < FRAMES; count++) webSocket.send('{"ping":1}');
  await answered;
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(FRAMES);
  webSocket.close();
});

test('a client that stops reading gets only what fits the buffers, and is disconnected with a reason', async () => {
  const server = await start({ limits: { heartbeatMs: 200, maxLiveWaitingBytes: 1_000_000 } });
  const piece = 'x'.repeat(1_000_000);
  const model = speakWith([{ heard: 'content' }, ...Array.from({ length: 200 }, () => piece), END]);
  const client = await callServer(server, QUERY);
  client.webSocket.pause();
  client.webSocket.send(hello('Hi'));
  const connection = await model.connection(0);
  await connection.ended;
  // Socket buffers of the system take a part of the 200 MB.
  expect(connection.stepsLeft).toBeGreaterThan(150);
  client.webSocket.resume();
  const { errorCode, code } = await client.end();
  expect([errorCode, code]).toEqual(['SLOW_READER', 1008]);
});

test('a server without liveEndpoint answers a WebSocket request with 404', async () => {
  const server = await start({ live: undefined });
  await expect(callServer(server, QUERY)).rejects.toThrow('404');
});

test('a token among the WebSocket protocols authenticates the client, and the other protocol is selected', async () => {
  const authenticate = jwtAuthenticate({ secret: SECRET, issuer: 'issuer', audience: 'agents' });
  const server = await start({ authenticate });
  const token = (userId: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(userId)
      .setExpirationTime('1h')
      .setIssuer('issuer')
      .setAudience('agents')
      .sign(new TextEncoder().encode(SECRET));
  speakWith([]);
  const ann = await callServer(server, QUERY, {}, ['eventloom', `bearer.${await token('ann')}`]);
  expect(ann.webSocket.protocol).toBe('eventloom');
  ann.send({ close: true });
  expect((await ann.end()).code).toBe(1000);
  const bob = await callServer(server, QUERY, {}, ['eventloom', `bearer.${await token('bob')}`]);
  expect(await bob.end()).toMatchObject({ errorCode: 'FORBIDDEN', code: 1008 });
  const nobody = await callServer(server, QUERY);
  expect(await nobody.end()).toMatchObject({ errorCode: 'UNAUTHENTICATED', code: 1008 });
});

test('an error in authenticate is a server failure and opens no WebSocket', async () => {
  const server = await start({ authenticate: () => Promise.reject(new TypeError('the secret is 42')) });
  const client = await callServer(server, QUERY);
  const end = await client.end();
  expect(end).toEqual({ errorCode: 'INTERNAL', code: 1011, reason: expect.not.stringContaining('42') });
});

test("a run under another user's id is refused", async () => {
  const client = await callServer(await start(), QUERY, { headers: { host: 'evil.example' } });
  expect(await client.end()).toMatchObject({ errorCode: 'FORBIDDEN', code: 1008 });
});

test('frames sent before the client is authenticated are not processed', async () => {
  const gate = Promise.withResolvers<undefined>();
  const server = await start({ authenticate: () => gate.promise });
  const model = speakWith([]);
  const calling = callServer(server, QUERY);
  gate.resolve(undefined);
  const client = await calling;
  client.webSocket.send(hello('Hi'));
  expect((await client.end()).code).toBe(1008);
  expect(model.attempts).toBe(0);
});

test.each([
  ['a step in its path', `GET /x/../run_live?${QUERY} HTTP/1.1\r\nHost: localhost\r\n`],
  ['two hosts', `GET /run_live?${QUERY} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n`],
  ['an invalid host', `GET /run_live?${QUERY} HTTP/1.1\r\nHost: a b\r\n`],
])('a request with %s gets no WebSocket', async (_what, head) => {
  const answer = await sendRaw(await start(), `${head}${HANDSHAKE}`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"\}$/);
});

test('other upgrades, and upgrades at other addresses, are answered as plain requests', async () => {
  const server = await start();
  const h2c = 'Connection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n';
  expect(await sendRaw(server, `GET /health HTTP/1.1\r\nHost: localhost\r\n${h2c}`)).toMatch(/^HTTP\/1\.1 200 /);
  const elsewhere = `GET /elsewhere HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE.replace('Upgrade', 'close, Upgrade')}`;
  expect(await sendRaw(server, elsewhere)).toMatch(/^HTTP\/1\.1 404 /);
});

test('an invalid handshake is refused', async () => {
  const head = `GET /run_live?${QUERY} HTTP/1.1\r\nHost: localhost\r\n`;
  const answer = await sendRaw(await start(), `${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
});

test('a frame whose announced length exceeds the limit closes the socket immediately', async () => {
  const server = await start();
  speakWith([]);
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`GET /run_live?${QUERY} HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE}`);
  await once(socket, 'data');
  // The start of a masked binary frame of 16 MB.
  socket.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]));
  let answer = Buffer.alloc(0);
  while (!answer.includes(Buffer.from([0x03, 0xf1]))) answer = Buffer.concat([answer, ...(await once(socket, 'data'))]);
  socket.destroy();
});

test('an interrupted connection ends its run', async () => {
  const server = await start();
  const model = speakWith([{ heard: 'content' }, 'Hello', new Gate()]);
  const client = await callServer(server, QUERY);
  client.say('Hi');
  await client.event();
  client.webSocket.terminate();
  const connection = await model.connection(0);
  await connection.ended;
  expect(connection.isClosed).toBe(true);
});

test('a shutdown closes sockets with 1012 and does not wait for clients that stay', async () => {
  const server = await start({}, 200);
  speakWith(['Hello', END], []);
  const polite = await callServer(server, QUERY);
  await polite.until(({ turnComplete }) => turnComplete);
  await server.shutDown();
  expect(await polite.end()).toMatchObject({ errorCode: 'SHUTTING_DOWN', code: 1012 });
  const other = await start({}, 200);
  speakWith(['Hello', END]);
  const rude = await callServer(other, QUERY);
  await rude.until(({ turnComplete }) => turnComplete);
  rude.webSocket.pause();
  await other.shutDown();
});

test.each([
  ['text that is not UTF-8', [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xff], 1007],
  ['a frame that breaks the protocol', [0xff, 0x80, 0, 0, 0, 0], 1002],
])('a connection that ends for %s has its close code', async (_, bytes, code) => {
  const server = await start();
  speakWith([]);
  const client = await callServer(server, QUERY);
  (Reflect.get(client.webSocket, '_socket') as Socket).write(Uint8Array.from(bytes));
  const reason = expect.stringMatching(/^INVALID_REQUEST: frame: /) as string;
  expect(await client.end()).toEqual({ errorCode: 'INVALID_REQUEST', code, reason });
});
