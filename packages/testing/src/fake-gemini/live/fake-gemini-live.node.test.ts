import { type LiveServerMessage, GoogleGenAI } from '@google/genai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { UnconsumedStepsError, UnexpectedRequestError } from '../../errors.ts';
import { Gate } from '../../gate.ts';
import { FakeGeminiServer } from '../fake-gemini-server.ts';
import { recordedLive } from './live-recording.ts';

let server: FakeGeminiServer;
beforeEach(async () => {
  server = await FakeGeminiServer.start();
});
afterEach(async () => {
  await server.close();
});

/** Connects a session of the real client, and collects its messages. */
async function connect() {
  const messages: object[] = [];
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  let arrival = Promise.withResolvers<void>();
  const client = new GoogleGenAI({ apiKey: 'a-test-key', httpOptions: { baseUrl: server.url, apiVersion: 'v1beta' } });
  const session = await client.live.connect({
    model: 'gemini-live',
    callbacks: {
      onmessage(message: LiveServerMessage) {
        messages.push(Object.assign({}, message));
        arrival.resolve();
        arrival = Promise.withResolvers();
      },
      onclose: ({ code, reason }) => closed.resolve({ code, reason }),
    },
  });
  return {
    session,
    messages,
    closed: closed.promise,
    heard: async (count: number): Promise<void> => {
      while (messages.length < count) await arrival.promise;
    },
  };
}

/** Opens a plain socket, for messages that the real client would not send. */
async function bare(...sent: string[]): Promise<{ code: number; reason: string }> {
  const path = 'ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k';
  const socket = new WebSocket(`${server.url}/${path}`);
  const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
  socket.on('open', () => {
    for (const text of sent) socket.send(text);
  });
  socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  return promise;
}

const COMPLETE = { setupComplete: {} };
const TURN = { serverContent: { turnComplete: true } };

test.each(['binary', 'text'] as const)('a setup is completed and the steps are sent, in %s frames', async (frames) => {
  server.live.enqueue({ frames, steps: [TURN, { toolCall: { functionCalls: [] } }] });
  const { heard, messages } = await connect();
  await heard(3);
  expect(messages).toEqual([COMPLETE, TURN, { toolCall: { functionCalls: [] } }]);
  const peer = await server.live.connection(0);
  expect(peer.setup).toEqual({ model: 'models/gemini-live' });
  expect(peer.path).toEqual({ apiVersion: 'v1beta', vertexai: false, apiKey: 'a-test-key' });
  server.assertConsumed();
});

test.each([
  ['binary', true],
  ['text', false],
] as const)('a script with %s frames sends only such frames', async (frames, isBinary) => {
  server.live.enqueue({ frames });
  const path = 'ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k';
  const socket = new WebSocket(`${server.url}/${path}`);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.on('open', () => socket.send('{"setup":{}}'));
  socket.on('message', (_, binary) => resolve(binary));
  expect(await promise).toBe(isBinary);
  socket.terminate();
});

test('cues and gates hold the next step, and functions compute it', async () => {
  const gate = new Gate();
  server.live.enqueue([
    { heard: 'clientContent' },
    { serverContent: { outputTranscription: { text: 'one' } } },
    { heard: /two/ },
    gate,
    (received) => [{ serverContent: { outputTranscription: { text: `${received.length}` } } }],
    { heard: (message) => 'toolResponse' in message },
    TURN,
  ]);
  const { session, heard, messages } = await connect();
  session.sendClientContent({ turns: 'two' });
  await heard(2);
  session.sendClientContent({ turns: 'two' });
  await gate.reached;
  expect(messages).toHaveLength(2);
  gate.open();
  await heard(3);
  session.sendToolResponse({ functionResponses: { id: '1', name: 'f', response: {} } });
  await heard(4);
  expect(messages.slice(1)).toEqual([
    { serverContent: { outputTranscription: { text: 'one' } } },
    { serverContent: { outputTranscription: { text: '2' } } },
    TURN,
  ]);
  expect(await (await server.live.connection(0)).heard('toolResponse')).toEqual({
    toolResponse: { functionResponses: [{ id: '1', name: 'f', response: {} }] },
  });
  server.assertConsumed();
});

test('a connection ends as its script says', async () => {
  server.live.enqueue([{ close: 1011, reason: 'enough' }], [{ cut: true }], []);
  expect(await (await connect()).closed).toEqual({ code: 1011, reason: 'enough' });
  expect((await (await connect()).closed).code).toBe(1006);
  const { session } = await connect();
  session.close();
  expect((await (await server.live.connection(2)).closed).code).toBe(1005);
});

test('a setup can be refused, held at a gate, or left incomplete', async () => {
  const gate = new Gate();
  server.live.enqueue({ setup: { close: 1008, reason: 'no' } }, { status: 403 }, { setup: gate }, { setup: null });
  await expect(connect()).rejects.toThrow('1008');
  await expect(connect()).rejects.toThrow('403');
  const connecting = connect();
  await gate.reached;
  gate.open();
  expect((await connecting).messages).toEqual([COMPLETE]);
  const never = connect();
  await (await server.live.connection(2)).heard('setup');
  await server.close();
  await expect(never).rejects.toThrow('1006');
});

test('invalid frames close the connection with 1007', async () => {
  server.live.enqueue([], [], []);
  expect((await bare('{"clientContent":{}}')).code).toBe(1007);
  expect((await bare('no JSON')).code).toBe(1007);
  expect((await bare('{"setup":{}}', '{"setup":{}}')).code).toBe(1007);
});

test('send adds a frame outside the script', async () => {
  server.live.enqueue([]);
  const { heard, messages } = await connect();
  (await server.live.connection(0)).send(TURN);
  await heard(2);
  expect(messages[1]).toEqual(TURN);
});

test('a recording is replayed, each frame after the client frames before it', async () => {
  server.live.enqueue(
    recordedLive({
      frames: [
        { dir: 'client', msg: { setup: { model: 'm' } } },
        { dir: 'server', msg: { setupComplete: { sessionId: 's1' } } },
        { dir: 'client', msg: { realtimeInput: { activityStart: {} } } },
        { dir: 'server', msg: TURN },
      ],
    }),
  );
  const { session, heard, messages } = await connect();
  expect(messages).toEqual([{ setupComplete: { sessionId: 's1' } }]);
  session.sendRealtimeInput({ activityStart: {} });
  await heard(2);
  expect(messages[1]).toEqual(TURN);
  server.assertConsumed();
});

test('unexpected connections and unused steps make assertConsumed fail', async () => {
  await expect(connect()).rejects.toThrow('400');
  expect(() => server.assertConsumed()).toThrow(UnexpectedRequestError);
  const other = await FakeGeminiServer.start();
  other.live.enqueue([{ heard: 'clientContent' }]);
  expect(() => other.assertConsumed()).toThrow(UnconsumedStepsError);
  await server.close();
  server = other;
  await connect();
  expect(() => server.assertConsumed()).toThrow('1 steps of live connection 1');
});

test('a function that throws closes the connection and makes assertConsumed fail', async () => {
  server.live.enqueue([() => Promise.reject(new TypeError('broken'))]);
  expect((await (await connect()).closed).code).toBe(1006);
  expect(() => server.assertConsumed()).toThrow(UnexpectedRequestError);
});
