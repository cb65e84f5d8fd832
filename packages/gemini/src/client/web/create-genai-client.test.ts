import { ConfigurationError, LiveConnectionError } from '@eventloom/core';
import { wireResponse } from '@eventloom/testing/fake-gemini';
import {
  Behavior,
  type Content,
  HarmBlockThreshold,
  HarmCategory,
  type HttpOptions,
  type LiveConnectConfig,
  MediaResolution,
  Modality,
  type Schema,
  type Tool,
  Type,
} from '@google/genai';
import { beforeEach, expect, test, vi } from 'vitest';
import type { GeminiClientOptions } from '../client-options.ts';
import { createGenAiClient as createWholeClient } from '../create-genai-client.ts';
import type { ClientSocketFactory } from '../../live/client-socket.ts';
import type { GenAiClient } from '../genai-client.ts';
import { createGenAiClient } from './create-genai-client.ts';

// @google/genai warns that a later version may not support `generationConfig` and tokens.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));

/** Headers in which `@google/genai` identifies itself. */
const AGENT_HEADERS = ['user-agent', 'x-goog-api-client'];

/** Returns the requests that a client sends when every method that is used is called once. */
async function sentBy(
  create: (options: GeminiClientOptions) => GenAiClient | Promise<GenAiClient>,
  options: GeminiClientOptions,
) {
  const sent: object[] = [];
  const fetch: NonNullable<HttpOptions['fetch']> = async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers } = request;
    for (const name of AGENT_HEADERS) headers.delete(name);
    sent.push({ url, method, headers: [...headers], body: await request.json() });
    const reply = wireResponse('Hello!');
    return url.includes('stream') ? new Response(`data: ${JSON.stringify(reply)}\n\n`) : Response.json(reply);
  };
  const client = await create({ apiKey: 'key', ...options, httpOptions: { ...options.httpOptions, fetch } });
  const model = 'gemini-2.5-flash';
  const httpOptions = { headers: { 'x-more': 'of the request' }, extraBody: { more: true } };
  const config = { temperature: 0, systemInstruction: 'Be kind.', httpOptions };
  await client.models.generateContent({ model, contents: 'Hi', config });
  for await (const chunk of await client.models.generateContentStream({ model, contents: 'Hi', config }))
    expect(chunk.candidates).toHaveLength(1);
  await client.caches?.create({ model, config: { ttl: '60s', contents: 'Hi', httpOptions } });
  await client.caches?.create({
    model: `models/${model}`,
    config: {
      contents: [
        { role: 'user', parts: [{ text: 'Look.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
        { role: 'model', parts: [{ functionCall: { name: 'look', args: { at: 1 } }, thoughtSignature: 'c2ln' }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { seen: true } } }] },
      ],
      systemInstruction: 'Be kind.',
      tools: [
        { functionDeclarations: [{ name: 'look', parameters: { type: Type.OBJECT, properties: {} } }] },
        { googleSearch: {} },
      ],
      toolConfig: { functionCallingConfig: { allowedFunctionNames: ['look'] } },
      displayName: 'begin',
      ttl: '60s',
    },
  });
  await client.caches?.delete({ name: 'cachedContents/c1', config: { httpOptions } });
  return sent;
}

/** Live configs: an empty one, and one with every field of a live connection. */
const LIVE_CONFIGS: readonly LiveConnectConfig[] = [
  {},
  {
    responseModalities: [Modality.TEXT],
    systemInstruction: 'Be kind.',
    temperature: 0,
    topP: 0.5,
    topK: 3,
    maxOutputTokens: 100,
    mediaResolution: MediaResolution.MEDIA_RESOLUTION_LOW,
    seed: 7,
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } }, languageCode: 'de-DE' },
    thinkingConfig: { thinkingBudget: 0 },
    enableAffectiveDialog: true,
    translationConfig: { targetLanguageCode: 'de' },
    // An unknown name would make the service end the connection.
    sessionResumption: Object.assign({ handle: 'h1' }, { handel: 'h2' }),
    inputAudioTranscription: {},
    outputAudioTranscription: {},
    realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
    contextWindowCompression: { slidingWindow: {} },
    proactivity: { proactiveAudio: true },
    avatarConfig: { avatarName: 'Ann' },
    safetySettings: [{ category: HarmCategory.HARM_CATEGORY_HARASSMENT, threshold: HarmBlockThreshold.BLOCK_NONE }],
  },
  {
    systemInstruction: { role: 'system', parts: [{ text: 'Be kind.' }, { text: 'Be short.' }] },
    generationConfig: {
      candidateCount: 1,
      topP: 0.1,
      enableAffectiveDialog: false,
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    },
    temperature: 0.5,
    // A field that is null counts as absent.
    ...({ topK: null, proactivity: null, contents: 'of no live connection', stopSequences: ['x'] } as object),
  },
];

function liveTools(): Tool[] {
  const at = { anyOf: [{ type: 'string' }, { type: 'null' }] };
  const parameters = { type: 'object', properties: { at } } as unknown as Schema;
  const declarations = [
    { name: 'look', parameters, behavior: Behavior.NON_BLOCKING },
    { name: 'find', parametersJsonSchema: { type: 'object' } },
  ];
  return [{ functionDeclarations: declarations }, { googleSearch: {} }, { codeExecution: {} }];
}

const TURNS: Content[] = [
  { role: 'user', parts: [{ text: 'Look.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
  {
    role: 'model',
    parts: [
      { text: 'Well', thought: true, ...({ unknown: 1 } as object) },
      { functionCall: { id: 'c1', name: 'look', args: { at: null } }, thoughtSignature: 'c2ln' },
    ],
  },
  { parts: [{ functionResponse: { id: 'c1', name: 'look', response: { seen: true } } }] },
];

/** Returns everything that live connections send: the address, the setup, and each kind of message. */
async function saidBy(
  create: (options: GeminiClientOptions) => GenAiClient | Promise<GenAiClient>,
  options: GeminiClientOptions,
  config: LiveConnectConfig,
) {
  const sent: unknown[] = [];
  const webSocketFactory: ClientSocketFactory = {
    create: (url, given, callbacks) => {
      const headers = Object.entries(given).filter(([name]) => !AGENT_HEADERS.includes(name));
      sent.push({ url, headers: Object.fromEntries(headers) });
      return {
        connect: () => callbacks.onopen(),
        send: (message) => {
          const { length } = sent;
          sent.push(JSON.parse(message));
          if (length === 1) callbacks.onmessage({ data: '{"setupComplete":{}}' });
        },
        close: () => sent.push('closed'),
      };
    },
  };
  const { live } = await create({ apiKey: 'key', ...options });
  const heard = Object.create(live ?? {}, { webSocketFactory: { value: webSocketFactory } }) as typeof live;
  const session = await heard?.connect({
    model: 'gemini-live',
    config,
    callbacks: { onmessage: () => undefined },
  });
  session?.sendClientContent({ turns: TURNS });
  session?.sendClientContent({ turns: TURNS.slice(0, 1), turnComplete: false });
  session?.sendClientContent({ turnComplete: true });
  session?.sendRealtimeInput({ audio: { data: 'AAAA', mimeType: 'audio/pcm;rate=16000' } });
  session?.sendRealtimeInput({ video: { data: 'AAAA', mimeType: 'image/png' } });
  session?.sendRealtimeInput({ media: { data: 'AAAA', mimeType: 'video/mp4' } });
  session?.sendRealtimeInput({ text: 'Hi' });
  session?.sendRealtimeInput({ activityStart: {} });
  session?.sendRealtimeInput({ activityEnd: {} });
  session?.sendToolResponse({ functionResponses: [{ id: 'c1', name: 'look', response: { output: 1 } }] });
  for (const refused of [
    { name: 'look', response: {} },
    { id: 'c1', name: 'look' },
    { id: 'c1', response: {} },
  ]) {
    try {
      session?.sendToolResponse({ functionResponses: [refused] });
    } catch {
      sent.push('refused');
    }
  }
  session?.close();
  return sent;
}

async function expectSame(options: GeminiClientOptions): Promise<void> {
  const sent = await sentBy(createGenAiClient, options);
  expect(sent).toHaveLength(5);
  expect(sent).toEqual(await sentBy(createWholeClient, options));
  await expectSaidSame(options);
}

async function expectSaidSame(options: GeminiClientOptions): Promise<void> {
  const ofService: LiveConnectConfig = options.vertexai
    ? { labels: { team: 'blue' }, explicitVadSignal: true, sessionResumption: { handle: 'h1', transparent: true } }
    : {};
  for (const config of [...LIVE_CONFIGS, ofService]) {
    // Each client gets a copy, because it modifies the object.
    const given = () => ({ ...structuredClone(config), tools: liveTools() });
    const said = await saidBy(createGenAiClient, options, given());
    expect(said).toHaveLength(16);
    expect(said).toEqual(await saidBy(createWholeClient, options, given()));
  }
}

test.each<GeminiClientOptions>([
  {},
  { apiVersion: 'v1beta', headers: { 'x-team': 'blue' } },
  {
    baseUrl: 'https://proxy.example/gemini/',
    httpOptions: { headers: { 'x-more': 'of the options', 'x-team': 'red' } },
  },
  { httpOptions: { timeout: 30_500, extraBody: { generationConfig: { topK: 1 }, extra: [1] } } },
  { vertexai: true },
  { vertexai: true, baseUrl: 'https://proxy.example' },
])('with %j the small client sends the same requests as GoogleGenAI', expectSame);

// Outside Node the whole client refuses a project, also with a key.
test
  .skipIf(navigator.userAgent === 'Cloudflare-Workers')
  .each<GeminiClientOptions>([
    { project: 'p' },
    { project: 'p', location: 'eu' },
    { project: 'p', location: 'europe-west4', apiVersion: 'v1' },
  ])('with the project options %j the small client sends the same requests as GoogleGenAI on node', (options) =>
  expectSame({ vertexai: true, ...options }),
);

test('a live token is sent in the address parameter for tokens', () =>
  expectSaidSame({ apiKey: 'auth_tokens/t1', apiVersion: 'v1alpha' }));

test.each([false, true])('liveApiVersion is in the address, with vertexai: %s', (vertexai) =>
  expectSaidSame({ vertexai, apiVersion: 'v1', liveApiVersion: 'v1alpha' }),
);

test('a live connection that ends before its setup throws with the reason', async () => {
  const { live } = createGenAiClient({ apiKey: 'key' });
  const reported: unknown[] = [];
  for (const end of ['onerror', 'onclose'] as const) {
    const webSocketFactory: ClientSocketFactory = {
      create: (_url, _headers, callbacks) => ({
        connect: () => callbacks[end]({ message: 'no', reason: 'no' }),
        send: () => undefined,
        close: () => undefined,
      }),
    };
    const heard = Object.create(live ?? {}, { webSocketFactory: { value: webSocketFactory } }) as typeof live;
    const callbacks = {
      onmessage: () => undefined,
      onerror: ({ message }: ErrorEvent) => reported.push(message),
      onclose: ({ reason }: CloseEvent) => reported.push(reason),
    };
    await expect(heard?.connect({ model: 'm', callbacks })).rejects.toThrow(LiveConnectionError);
  }
  expect(reported).toEqual(['no', 'no']);
});

test('a cache is created with the tools of a request, and the given tools are not modified', async () => {
  const bodies: { readonly tools?: unknown }[] = [];
  const { models, caches } = createGenAiClient({
    apiKey: 'key',
    httpOptions: {
      fetch: async (input, init) => {
        bodies.push(await new Request(input, init).json());
        return Response.json(wireResponse('Hello!'));
      },
    },
  });
  const toolsOf = () => [
    {
      functionDeclarations: [{ name: 'look', parameters: { type: 'object', properties: { at: { type: 'integer' } } } }],
    },
  ];
  const given = toolsOf() as object[];
  const model = 'gemini-2.5-flash';
  await caches?.create({ model, config: { contents: 'Hi', tools: given } });
  await models.generateContent({ model, contents: 'Hi', config: { tools: toolsOf() as object[] } });
  expect(bodies[0]?.tools).toBeDefined();
  expect(bodies[0]?.tools).toEqual(bodies[1]?.tools);
  expect(given).toEqual(toolsOf());
});

test('createGenAiClient throws without a key', () => {
  expect(() => createGenAiClient({ vertexai: true, project: 'p' })).toThrow(ConfigurationError);
});
