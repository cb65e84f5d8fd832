import { ConfigurationError } from '@eventloom/core';
import { wireResponse } from '@eventloom/testing/fake-gemini';
import { type HttpOptions, Modality, Type } from '@google/genai';
import { expect, test } from 'vitest';
import type { GeminiClientOptions } from '../client-options.ts';
import { createGenAiClient as createWholeClient } from '../create-genai-client.ts';
import type { ClientSocketFactory } from '../../live/client-socket.ts';
import type { GenAiClient } from '../genai-client.ts';
import { createGenAiClient } from './create-genai-client.ts';

/** How @google/genai says who it is. */
const AGENT_HEADERS = ['user-agent', 'x-goog-api-client'];

/** What is sent by a client that is asked for all that is used of one. */
async function sentBy(create: (options: GeminiClientOptions) => GenAiClient, options: GeminiClientOptions) {
  const sent: object[] = [];
  const fetch: NonNullable<HttpOptions['fetch']> = async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers } = request;
    for (const name of AGENT_HEADERS) headers.delete(name);
    sent.push({ url, method, headers: [...headers], body: await request.json() });
    const reply = wireResponse('Hello!');
    return url.includes('stream') ? new Response(`data: ${JSON.stringify(reply)}\n\n`) : Response.json(reply);
  };
  const client = create({ apiKey: 'key', ...options, httpOptions: { ...options.httpOptions, fetch } });
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

/** What a live connection sends: where to, the setup, and each kind of message. */
async function saidBy(create: (options: GeminiClientOptions) => GenAiClient, options: GeminiClientOptions) {
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
        close: () => undefined,
      };
    },
  };
  const { live } = create({ apiKey: 'key', ...options });
  const heard = Object.create(live ?? {}, { webSocketFactory: { value: webSocketFactory } }) as typeof live;
  const session = await heard?.connect({
    model: 'gemini-live',
    config: {
      responseModalities: [Modality.AUDIO],
      systemInstruction: 'Be kind.',
      temperature: 0,
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
      tools: [{ functionDeclarations: [{ name: 'look', parameters: { type: Type.OBJECT, properties: {} } }] }],
      sessionResumption: { handle: 'h1' },
      inputAudioTranscription: {},
      contextWindowCompression: { slidingWindow: {} },
    },
    callbacks: { onmessage: () => undefined },
  });
  session?.sendClientContent({ turns: [{ role: 'user', parts: [{ text: 'Hi' }] }] });
  session?.sendRealtimeInput({ audio: { data: 'AAAA', mimeType: 'audio/pcm;rate=16000' } });
  session?.sendRealtimeInput({ activityStart: {} });
  session?.sendToolResponse({ functionResponses: [{ id: 'c1', name: 'look', response: { output: 1 } }] });
  return sent;
}

async function expectSame(options: GeminiClientOptions): Promise<void> {
  const sent = await sentBy(createGenAiClient, options);
  expect(sent).toHaveLength(5);
  expect(sent).toEqual(await sentBy(createWholeClient, options));
  const said = await saidBy(createGenAiClient, options);
  expect(said).toHaveLength(6);
  expect(said).toEqual(await saidBy(createWholeClient, options));
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
])('with %j it sends what the whole client sends', expectSame);

// Outside of node the whole client takes no project, also with a key.
test
  .skipIf(navigator.userAgent === 'Cloudflare-Workers')
  .each<GeminiClientOptions>([
    { project: 'p' },
    { project: 'p', location: 'eu' },
    { project: 'p', location: 'europe-west4', apiVersion: 'v1' },
  ])('in a project %j it sends what the whole client sends on node', (options) =>
  expectSame({ vertexai: true, ...options }),
);

test('a cache holds tools as a request says them, and what is given stays as it is', async () => {
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

test('without a key there is no client', () => {
  expect(() => createGenAiClient({ vertexai: true, project: 'p' })).toThrow(ConfigurationError);
});
