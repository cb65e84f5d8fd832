// Needs a server in this process, so it runs on Node only. Tests for all runtimes are in gemini-live-network.test.ts.
import { InvalidMessageError, createLlmRequest } from '@eventloom/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LivePeer, read, requestWith, user } from './fixtures/live-peer.ts';

let peer: LivePeer;

/** The dialect of Gemini 3 and later. */
const NEWER = 'gemini-3.1-flash-live-preview';

beforeEach(async () => {
  peer = await LivePeer.start();
});

afterEach(() => peer.close());

test('a history that ends with the user is sent with turnComplete, and an empty one is not sent', async () => {
  const connection = await peer.connect([]);
  await connection.sendHistory([]);
  await connection.sendHistory([user('Hi')]);
  await (await peer.last()).heard('clientContent');
  expect((await peer.last()).received).toEqual([{ clientContent: { turns: [user('Hi')], turnComplete: true } }]);
});

test('a history that ends with function responses is sent with turnComplete, unless calls are pending', async () => {
  const functionResponse = { id: 'c1', name: 'f', response: { status: 'pending' } };
  const history = [user('Hi'), { role: 'user', parts: [{ functionResponse }] }];
  for (const isWaiting of [false, true]) {
    const connection = await peer.connect([]);
    await connection.sendHistory(history, isWaiting);
    const session = await peer.last();
    await session.heard('clientContent');
    expect(session.received).toEqual([{ clientContent: { turns: history, turnComplete: !isWaiting } }]);
  }
});

test('for newer models the setup announces the history, and its last user content is sent as realtime input', async () => {
  peer.server.live.enqueue([]);
  const history = [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }, user('How are you?')];
  const connection = await peer.gemini({ model: NEWER }).connect({ ...createLlmRequest(), contents: history });
  peer.opened(connection);
  await connection.sendHistory(history);
  await connection.sendContent({
    parts: [{ text: 'And you?' }, { inlineData: { data: 'AAAA', mimeType: 'image/png' } }],
  });
  await (await peer.last()).heard(/image/);
  expect((await peer.last()).setup).toEqual({
    model: `models/${NEWER}`,
    historyConfig: { initialHistoryInClientContent: true },
  });
  expect((await peer.last()).received).toEqual([
    { clientContent: { turns: history.slice(0, 2), turnComplete: true } },
    { realtimeInput: { text: 'How are you?' } },
    { realtimeInput: { text: 'And you?' } },
    { realtimeInput: { video: { data: 'AAAA', mimeType: 'image/png' } } },
  ]);
});

test('an announced history that is not sent is ended before the first input', async () => {
  peer.server.live.enqueue([]);
  const contents = [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }];
  const connection = await peer.gemini({ model: NEWER }).connect({ ...createLlmRequest(), contents });
  peer.opened(connection);
  await connection.sendActivityStart?.();
  await connection.sendActivityEnd?.();
  await (await peer.last()).heard(/activityEnd/);
  expect((await peer.last()).received).toEqual([
    { clientContent: { turnComplete: true } },
    { realtimeInput: { activityStart: {} } },
    { realtimeInput: { activityEnd: {} } },
  ]);
});

test.each([
  ['that resumes a session', { config: { sessionResumption: { handle: 'h1' } } }],
  ['without a past', { contents: [user('Hi')] }],
])('the setup of a newer model %s announces no history', async (_, request) => {
  peer.server.live.enqueue([]);
  const contents = [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }];
  const connection = await peer.gemini({ model: NEWER }).connect({ ...createLlmRequest(), contents, ...request });
  peer.opened(connection);
  await connection.sendActivityStart?.();
  await (await peer.last()).heard(/activityStart/);
  expect((await peer.last()).setup).not.toHaveProperty('historyConfig');
  expect((await peer.last()).received).toEqual([{ realtimeInput: { activityStart: {} } }]);
});

test('content that a newer model does not accept throws, and the connection stays open', async () => {
  peer.server.live.enqueue([{ heard: /later/ }, { serverContent: { turnComplete: true } }]);
  const connection = await peer.gemini({ model: NEWER }).connect(requestWith());
  peer.opened(connection);
  const part = { fileData: { fileUri: 'gs://a/b', mimeType: 'image/png' } };
  await expect(connection.sendContent({ parts: [part] })).rejects.toThrow(InvalidMessageError);
  await connection.sendContent(user('later'));
  expect(await read(connection, 1)).toEqual([{ turnComplete: true }]);
});
