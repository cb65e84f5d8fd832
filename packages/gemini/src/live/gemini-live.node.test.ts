// Needs a server in this process, so it runs on Node only. Tests for all runtimes are in gemini-live-network.test.ts.
import { InvalidMessageError, LiveConnectionError } from '@eventloom/core';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LivePeer, read, requestWith, sendsHeaders, user } from './fixtures/live-peer.ts';

let peer: LivePeer;

beforeEach(async () => {
  peer = await LivePeer.start();
});

afterEach(() => peer.close());

test('the Gemini API is called with its live version and the key', async () => {
  await peer.connect([]);
  expect((await peer.last()).path).toEqual({ apiVersion: 'v1beta', vertexai: false, apiKey: 'a-test-key' });
  expect((await peer.last()).setup).toEqual({ model: 'models/gemini-live' });
});

test('a given API version and headers are used', async () => {
  await peer.connect([], { apiVersion: 'v1alpha', headers: { 'x-team': 'blue' } });
  const { path, headers } = await peer.last();
  expect(path.apiVersion).toBe('v1alpha');
  expect(headers['x-team']).toBe(sendsHeaders ? 'blue' : undefined);
});

test.each([false, true])(
  'with liveApiVersion and vertexai: %s, only live connections have that version',
  async (vertexai) => {
    peer.server.enqueue(jsonReply(wireResponse('Hello.')));
    const options = { vertexai, apiVersion: 'v1', liveApiVersion: 'v1alpha' };
    const asked = peer.gemini(options).generateContentAsync({ ...requestWith(), contents: [user('Hi')] });
    for await (const _response of asked);
    await peer.connect([], options);
    expect(peer.server.requests.map(({ path }) => path.split('/')[1])).toEqual(['v1']);
    expect((await peer.last()).path).toMatchObject({ apiVersion: 'v1alpha', vertexai });
  },
);

test('Vertex AI gets the key in a header, the full model name, and AUDIO by default', async () => {
  await peer.connect([], { vertexai: true, location: 'here' });
  const { path, headers, setup } = await peer.last();
  expect(path).toEqual({ apiVersion: 'v1beta1', vertexai: true });
  expect(headers['x-goog-api-key']).toBe(sendsHeaders ? 'a-test-key' : undefined);
  expect(setup).toEqual({
    model: 'publishers/google/models/gemini-live',
    generationConfig: { responseModalities: ['AUDIO'] },
  });
});

test('requests are sent in order', async () => {
  const connection = await peer.connect([]);
  await Promise.all([
    connection.sendHistory([user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }]),
    connection.sendContent(user('How are you?')),
    connection.sendActivityStart?.(),
    connection.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm;rate=16000' }),
    connection.sendRealtime({ data: '_-A', mimeType: 'image/jpeg' }),
    connection.sendRealtime({ data: 'AAAA', mimeType: 'video/mp4' }),
    connection.sendActivityEnd?.(),
    connection.sendToolResponses?.([{ id: 'c1', name: 'f', response: { result: 1 }, scheduling: 'SILENT' }]),
  ]);
  const { received, heard } = await peer.last().then(async (at) => {
    await at.heard('toolResponse');
    return { received: at.received, heard: at };
  });
  expect(heard.stepsLeft).toBe(0);
  expect(received).toEqual([
    { clientContent: { turns: [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }], turnComplete: false } },
    { clientContent: { turns: [user('How are you?')], turnComplete: true } },
    { realtimeInput: { activityStart: {} } },
    { realtimeInput: { audio: { data: 'AAAA', mimeType: 'audio/pcm;rate=16000' } } },
    { realtimeInput: { video: { data: '/+A=', mimeType: 'image/jpeg' } } },
    { realtimeInput: { mediaChunks: [{ data: 'AAAA', mimeType: 'video/mp4' }] } },
    { realtimeInput: { activityEnd: {} } },
    { toolResponse: { functionResponses: [{ id: 'c1', name: 'f', response: { result: 1 }, scheduling: 'SILENT' }] } },
  ]);
});

test('a content without a role gets the role user, and function responses are sent as toolResponse', async () => {
  const connection = await peer.connect([]);
  await connection.sendContent({ parts: [{ text: 'Hi' }] });
  await connection.sendContent({ role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: {} } }] });
  await (await peer.last()).heard('toolResponse');
  expect((await peer.last()).received).toEqual([
    { clientContent: { turns: [user('Hi')], turnComplete: true } },
    { toolResponse: { functionResponses: [{ id: 'c1', name: 'f', response: {} }] } },
  ]);
});

test('content that the client refuses throws, and the connection stays open', async () => {
  const connection = await peer.connect([{ heard: 'clientContent' }, { serverContent: { turnComplete: true } }]);
  await expect(connection.sendToolResponses?.([{ name: 'f', response: {} }])).rejects.toThrow(InvalidMessageError);
  await connection.sendContent(user('Hi'));
  expect(await read(connection, 1)).toEqual([{ turnComplete: true }]);
});

test.each(['binary', 'text'] as const)(
  'messages in %s frames arrive in order, including those directly after the setup',
  async (frames) => {
    const texts = Array.from({ length: 200 }, (_, index) => `${index} Grüße 🌍`);
    const steps = texts.map((text) => ({ serverContent: { modelTurn: { parts: [{ text }] } } }));
    const connection = await peer.connect({ frames, steps });
    expect(await read(connection, texts.length)).toEqual(
      texts.map((text) => ({ content: { role: 'model', parts: [{ text }] } })),
    );
  },
);

test('frames that arrived before the first read are all yielded', async () => {
  const data = 'A'.repeat(1024 * 1024);
  const audio = { serverContent: { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm', data } }] } } };
  const connection = await peer.connect([
    ...Array.from({ length: 12 }, () => audio),
    { serverContent: { turnComplete: true } },
  ]);
  const responses = await read(connection, 13);
  expect(responses.slice(0, 12).map(({ content }) => content?.parts?.[0]?.inlineData?.data?.length)).toEqual(
    Array.from({ length: 12 }, () => data.length),
  );
  expect(responses.at(-1)).toEqual({ turnComplete: true });
});

test('close sends a close frame, ends receive after the frames that arrived, and refuses sends', async () => {
  const connection = await peer.connect([{ heard: 'clientContent' }, { serverContent: { turnComplete: true } }]);
  await connection.sendContent(user('Hi'));
  const reader = connection.receive();
  expect(await reader.next()).toEqual({ done: false, value: { turnComplete: true } });
  const reading = reader.next();
  await connection.sendContent(user('Bye'));
  await connection.close();
  await connection.close();
  expect(await reading).toEqual({ done: true, value: undefined });
  await expect(connection.sendContent(user('Hi'))).rejects.toThrow(LiveConnectionError);
  await (
    await peer.last()
  ).closed;
  expect((await peer.last()).received).toHaveLength(2);
});

test('receive throws when it is called twice', async () => {
  const connection = await peer.connect([{ serverContent: { turnComplete: true } }]);
  await read(connection, 1);
  await expect(connection.receive().next()).rejects.toThrow(LiveConnectionError);
});
