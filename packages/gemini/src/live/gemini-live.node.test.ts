// Needs the other side of the connection at hand, which is a server of node. What all runtimes do is in gemini-live-network.test.ts.
import {
  type BaseLlmConnection,
  createLlmRequest,
  InvalidMessageError,
  LiveConnectionError,
  type LiveLlmResponse,
  type LlmRequest,
} from '@eventloom/core';
import { type FakeLiveConnection, type FakeLiveScript, FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Gemini, type GeminiOptions } from '../gemini.ts';

/** False for the sockets of browsers. */
const sendsHeaders = process.env['GEMINI_SOCKETS'] !== 'web';

let server: FakeGeminiServer;
let open: BaseLlmConnection[];
beforeEach(async () => {
  open = [];
  server = await FakeGeminiServer.start();
});
afterEach(async () => {
  for (const connection of open) await connection.close();
  await server.close();
  server.assertConsumed();
});

function gemini(options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({ model: 'gemini-live', apiKey: 'a-test-key', baseUrl: server.url, ...options });
}

function requestWith(config: LlmRequest['config'] = {}): LlmRequest {
  return { ...createLlmRequest(), config };
}

async function connect(
  script: FakeLiveScript,
  { config, ...options }: Partial<GeminiOptions> & { config?: LlmRequest['config'] } = {},
): Promise<BaseLlmConnection> {
  server.live.enqueue(script);
  const connection = await gemini(options).connect(requestWith(config));
  open.push(connection);
  return connection;
}

/** As the server has the connection that was opened last. */
function peer(): Promise<FakeLiveConnection> {
  return server.live.connection(server.live.connections.length - 1);
}

async function read(connection: BaseLlmConnection, count: number): Promise<LiveLlmResponse[]> {
  const responses: LiveLlmResponse[] = [];
  const reader = connection.receive();
  while (responses.length < count) {
    const { done, value } = await reader.next();
    if (done) break;
    responses.push(value);
  }
  return responses;
}

function user(text: string) {
  return { role: 'user', parts: [{ text }] };
}

test('the Gemini API is asked in the version of its live side, with the key', async () => {
  await connect([]);
  expect((await peer()).path).toEqual({ apiVersion: 'v1beta', vertexai: false, apiKey: 'a-test-key' });
  expect((await peer()).setup).toEqual({ model: 'models/gemini-live' });
});

test('a version that is given is asked for, and headers are sent', async () => {
  await connect([], { apiVersion: 'v1alpha', headers: { 'x-team': 'blue' } });
  const { path, headers } = await peer();
  expect(path.apiVersion).toBe('v1alpha');
  expect(headers['x-team']).toBe(sendsHeaders ? 'blue' : undefined);
});

test('Vertex AI has the key in a header, the model in full, and audio unless something else is asked for', async () => {
  await connect([], { vertexai: true, location: 'here' });
  const { path, headers, setup } = await peer();
  expect(path).toEqual({ apiVersion: 'v1beta1', vertexai: true });
  expect(headers['x-goog-api-key']).toBe(sendsHeaders ? 'a-test-key' : undefined);
  expect(setup).toEqual({
    model: 'publishers/google/models/gemini-live',
    generationConfig: { responseModalities: ['AUDIO'] },
  });
});

const CONFIG: LlmRequest['config'] = {
  systemInstruction: 'Be kind.',
  responseModalities: ['AUDIO'],
  temperature: 0.2,
  topP: 0.9,
  topK: 3,
  maxOutputTokens: 100,
  seed: 7,
  mediaResolution: 'MEDIA_RESOLUTION_LOW',
  thinkingConfig: { thinkingBudget: 0 },
  speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } }, languageCode: 'de-DE' },
  enableAffectiveDialog: true,
  inputAudioTranscription: {},
  outputAudioTranscription: {},
  realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
  sessionResumption: { handle: 'h1', transparent: true },
  contextWindowCompression: { triggerTokens: '1000', slidingWindow: { targetTokens: '500' } },
  proactivity: { proactiveAudio: true },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  labels: { team: 'blue' },
  tools: [{ functionDeclarations: [{ name: 'f', behavior: 'NON_BLOCKING' }] }, { googleSearch: {} }],
  // What live connections do not have is not sent.
  stopSequences: ['x'],
  responseMimeType: 'application/json',
  httpOptions: { timeout: 1 },
};

const SETUP = {
  systemInstruction: { role: 'user', parts: [{ text: 'Be kind.' }] },
  generationConfig: {
    responseModalities: ['AUDIO'],
    temperature: 0.2,
    topP: 0.9,
    topK: 3,
    maxOutputTokens: 100,
    seed: 7,
    mediaResolution: 'MEDIA_RESOLUTION_LOW',
    thinkingConfig: { thinkingBudget: 0 },
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } }, languageCode: 'de-DE' },
    enableAffectiveDialog: true,
  },
  inputAudioTranscription: {},
  outputAudioTranscription: {},
  realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
  contextWindowCompression: { triggerTokens: '1000', slidingWindow: { targetTokens: '500' } },
  proactivity: { proactiveAudio: true },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  tools: [{ functionDeclarations: [{ name: 'f', behavior: 'NON_BLOCKING' }] }, { googleSearch: {} }],
};

test('the configuration is the setup, and is not modified', async () => {
  const config = structuredClone(CONFIG);
  await connect([], { config });
  expect((await peer()).setup).toEqual({
    ...SETUP,
    model: 'models/gemini-live',
    sessionResumption: { handle: 'h1' },
  });
  expect(config).toEqual(CONFIG);
});

test('a generationConfig in the client’s older form is taken, and not modified', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const generationConfig = { candidateCount: 1 };
  await connect([], { config: { generationConfig, temperature: 0.5 } });
  expect((await peer()).setup).toMatchObject({ generationConfig: { candidateCount: 1, temperature: 0.5 } });
  expect(generationConfig).toEqual({ candidateCount: 1 });
  warn.mockRestore();
});

test('Vertex AI is also told to resume transparently, and the labels', async () => {
  await connect([], { config: CONFIG, vertexai: true });
  const { tools: _, ...setup } = SETUP;
  expect((await peer()).setup).toMatchObject({
    ...setup,
    sessionResumption: { handle: 'h1', transparent: true },
    labels: { team: 'blue' },
  });
});

test('a resumption without a handle asks for one', async () => {
  await connect([], { config: { sessionResumption: {} } });
  expect((await peer()).setup).toEqual({ model: 'models/gemini-live', sessionResumption: {} });
});

test('the request may name another model', async () => {
  server.live.enqueue([]);
  open.push(await gemini().connect({ ...requestWith(), model: 'models/other' }));
  expect((await peer()).setup).toEqual({ model: 'models/other' });
});

test('all that is said goes out in the order in which it was said', async () => {
  const connection = await connect([]);
  await Promise.all([
    connection.sendHistory([user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }]),
    connection.sendContent(user('How are you?')),
    connection.sendActivityStart(),
    connection.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm;rate=16000' }),
    connection.sendRealtime({ data: '_-A', mimeType: 'image/jpeg' }),
    connection.sendRealtime({ data: 'AAAA', mimeType: 'video/mp4' }),
    connection.sendActivityEnd(),
    connection.sendToolResponses([{ id: 'c1', name: 'f', response: { result: 1 }, scheduling: 'SILENT' }]),
  ]);
  const { received, heard } = await peer().then(async (at) => {
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

test('a history that ends with the user is answered, and an empty one is not sent', async () => {
  const connection = await connect([]);
  await connection.sendHistory([]);
  await connection.sendHistory([user('Hi')]);
  await (await peer()).heard('clientContent');
  expect((await peer()).received).toEqual([{ clientContent: { turns: [user('Hi')], turnComplete: true } }]);
});

test('a history that ends with what came of calls is answered, but not while these wait', async () => {
  const functionResponse = { id: 'c1', name: 'f', response: { status: 'pending' } };
  const history = [user('Hi'), { role: 'user', parts: [{ functionResponse }] }];
  for (const isWaiting of [false, true]) {
    const connection = await connect([]);
    await connection.sendHistory(history, isWaiting);
    const told = await peer();
    await told.heard('clientContent');
    expect(told.received).toEqual([{ clientContent: { turns: history, turnComplete: !isWaiting } }]);
  }
});

/** The dialect of Gemini 3 and later. */
const NEWER = 'gemini-3.1-flash-live-preview';

test('to a newer model, a history is announced, told, and its last words are said to be answered', async () => {
  server.live.enqueue([]);
  const history = [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }, user('How are you?')];
  const connection = await gemini({ model: NEWER }).connect({ ...createLlmRequest(), contents: history });
  open.push(connection);
  await connection.sendHistory(history);
  await connection.sendContent({
    parts: [{ text: 'And you?' }, { inlineData: { data: 'AAAA', mimeType: 'image/png' } }],
  });
  await (await peer()).heard(/image/);
  expect((await peer()).setup).toEqual({
    model: `models/${NEWER}`,
    historyConfig: { initialHistoryInClientContent: true },
  });
  expect((await peer()).received).toEqual([
    { clientContent: { turns: history.slice(0, 2), turnComplete: true } },
    { realtimeInput: { text: 'How are you?' } },
    { realtimeInput: { text: 'And you?' } },
    { realtimeInput: { video: { data: 'AAAA', mimeType: 'image/png' } } },
  ]);
});

test('a newer model is not made to wait for a history that never comes', async () => {
  server.live.enqueue([]);
  const contents = [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }];
  const connection = await gemini({ model: NEWER }).connect({ ...createLlmRequest(), contents });
  open.push(connection);
  await connection.sendActivityStart();
  await connection.sendActivityEnd();
  await (await peer()).heard(/activityEnd/);
  expect((await peer()).received).toEqual([
    { clientContent: { turnComplete: true } },
    { realtimeInput: { activityStart: {} } },
    { realtimeInput: { activityEnd: {} } },
  ]);
});

test.each([
  ['that resumes a session', { config: { sessionResumption: { handle: 'h1' } } }],
  ['without a past', { contents: [user('Hi')] }],
])('a connection to a newer model %s announces no history', async (_, request) => {
  server.live.enqueue([]);
  const contents = [user('Hi'), { role: 'model', parts: [{ text: 'Hello.' }] }];
  const connection = await gemini({ model: NEWER }).connect({ ...createLlmRequest(), contents, ...request });
  open.push(connection);
  await connection.sendActivityStart();
  await (await peer()).heard(/activityStart/);
  expect((await peer()).setup).not.toHaveProperty('historyConfig');
  expect((await peer()).received).toEqual([{ realtimeInput: { activityStart: {} } }]);
});

test('what a newer model cannot be told is refused, and the connection goes on', async () => {
  server.live.enqueue([{ heard: /later/ }, { serverContent: { turnComplete: true } }]);
  const connection = await gemini({ model: NEWER }).connect(requestWith());
  open.push(connection);
  const part = { fileData: { fileUri: 'gs://a/b', mimeType: 'image/png' } };
  await expect(connection.sendContent({ parts: [part] })).rejects.toThrow(InvalidMessageError);
  await connection.sendContent(user('later'));
  expect(await read(connection, 1)).toEqual([{ turnComplete: true }]);
});

test('a content without a role is the user’s, and one of function responses answers calls', async () => {
  const connection = await connect([]);
  await connection.sendContent({ parts: [{ text: 'Hi' }] });
  await connection.sendContent({ role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: {} } }] });
  await (await peer()).heard('toolResponse');
  expect((await peer()).received).toEqual([
    { clientContent: { turns: [user('Hi')], turnComplete: true } },
    { toolResponse: { functionResponses: [{ id: 'c1', name: 'f', response: {} }] } },
  ]);
});

test('what the client refuses to send is told, and the connection goes on', async () => {
  const connection = await connect([{ heard: 'clientContent' }, { serverContent: { turnComplete: true } }]);
  await expect(connection.sendToolResponses([{ name: 'f', response: {} }])).rejects.toThrow(InvalidMessageError);
  await connection.sendContent(user('Hi'));
  expect(await read(connection, 1)).toEqual([{ turnComplete: true }]);
});

test.each(['binary', 'text'] as const)(
  'messages in %s frames come in order, those right behind the setup too',
  async (frames) => {
    const texts = Array.from({ length: 200 }, (_, index) => `${index} Grüße 🌍`);
    const steps = texts.map((text) => ({ serverContent: { modelTurn: { parts: [{ text }] } } }));
    const connection = await connect({ frames, steps });
    expect(await read(connection, texts.length)).toEqual(
      texts.map((text) => ({ content: { role: 'model', parts: [{ text }] } })),
    );
  },
);

test('what came before a slow reader looked is all there', async () => {
  const data = 'A'.repeat(1024 * 1024);
  const audio = { serverContent: { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm', data } }] } } };
  const connection = await connect([
    ...Array.from({ length: 12 }, () => audio),
    { serverContent: { turnComplete: true } },
  ]);
  const responses = await read(connection, 13);
  expect(responses.slice(0, 12).map(({ content }) => content?.parts?.[0]?.inlineData?.data?.length)).toEqual(
    Array.from({ length: 12 }, () => data.length),
  );
  expect(responses.at(-1)).toEqual({ turnComplete: true });
});

test('after close the server sees a proper end, receive ends with what had come, and nothing can be sent', async () => {
  const connection = await connect([{ heard: 'clientContent' }, { serverContent: { turnComplete: true } }]);
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
    await peer()
  ).closed;
  expect((await peer()).received).toHaveLength(2);
});

test('a connection is read once', async () => {
  const connection = await connect([{ serverContent: { turnComplete: true } }]);
  await read(connection, 1);
  await expect(connection.receive().next()).rejects.toThrow(LiveConnectionError);
});
