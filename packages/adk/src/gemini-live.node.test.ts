import { FakeGeminiServer, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { describe, expect, test } from 'vitest';
import {
  ApigeeLlm,
  BaseTool,
  Gemini,
  InMemoryRunner,
  LiveRequestQueue,
  LlmAgent,
  type LlmRequest,
  type GeminiParams,
  type RunConfig,
} from './index.ts';

/** A tool that asks for a low temperature, as programs for the ADK write it. */
class Sober extends BaseTool {
  override processLlmRequest({ llmRequest }: { llmRequest: LlmRequest }): void {
    llmRequest.liveConnectConfig = { temperature: 0.1 };
  }
  override async runAsync(): Promise<undefined> {
    return undefined;
  }
}

test('Gemini connects with what a tool and a callback write to liveConnectConfig, and with the options of the run', async () => {
  await using server = await FakeGeminiServer.start();
  server.live.enqueue([{ heard: 'clientContent' }, { serverContent: { turnComplete: true } }]);
  const agent = new LlmAgent({
    name: 'helper',
    model: new Gemini({ model: 'gemini-live', apiKey: 'key', baseUrl: server.url }),
    tools: [new Sober({ name: 'sober', description: 'Makes replies sober.' })],
    beforeModelCallback: ({ request }: { request: LlmRequest }) => {
      request.liveConnectConfig.speechConfig = { languageCode: 'fr-FR' };
    },
  });
  const runner = new InMemoryRunner({ agent, autoCreateSession: true });
  const liveRequestQueue = new LiveRequestQueue();
  liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello?' }] });
  const runConfig = { responseModalities: ['TEXT' as const], speechConfig: { languageCode: 'de-DE' } };
  for await (const { turnComplete } of runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig }))
    if (turnComplete) liveRequestQueue.close();
  const { setup } = await server.live.connection(0);
  expect(setup).toMatchObject({
    generationConfig: {
      responseModalities: ['TEXT'],
      temperature: 0.1,
      speechConfig: { languageCode: 'fr-FR' },
    },
  });
});

test.each<[string, Partial<GeminiParams>, { request: string; live: string }]>([
  ['no options', {}, { request: 'v1', live: 'v1alpha' }],
  ['vertexai', { vertexai: true, project: 'p', location: 'here' }, { request: 'v1beta1', live: 'v1beta1' }],
  ['apiVersion', { apiVersion: 'v1beta' }, { request: 'v1beta', live: 'v1beta' }],
  ['httpOptions.apiVersion', { httpOptions: { apiVersion: 'v1beta' } }, { request: 'v1beta', live: 'v1beta' }],
  ['liveApiVersion', { liveApiVersion: 'v1beta' }, { request: 'v1', live: 'v1beta' }],
])('Gemini with %s calls and connects to the right versions', async (_title, options, { request, live }) => {
  await using server = await FakeGeminiServer.start([jsonReply(wireResponse('Hello.'))]);
  expect(await versionsOf(server, new Gemini({ apiKey: 'key', baseUrl: server.url, ...options }))).toEqual({
    request,
    live,
  });
});

test('ApigeeLlm connects to the version in the name of the model, without one to v1alpha', async () => {
  await using server = await FakeGeminiServer.start();
  for (const [model, live] of [
    ['apigee/v1/gemini-live', 'v1'],
    ['apigee/gemini-live', 'v1alpha'],
  ] as const) {
    server.enqueue(jsonReply(wireResponse('Hello.')));
    expect(await versionsOf(server, new ApigeeLlm({ model, proxyUrl: server.url }))).toEqual({ request: 'v1', live });
  }
});

async function versionsOf(server: FakeGeminiServer, model: Gemini): Promise<{ request?: string; live: string }> {
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  for await (const _response of model.generateContentAsync({ contents }));
  server.live.enqueue([]);
  const connection = await model.connect({ contents: [] });
  await connection.close();
  const { path } = await server.live.connection(server.live.connections.length - 1);
  const request = server.requests.at(-1)?.path.split('/')[1];
  return { ...(request !== undefined && { request }), live: path.apiVersion };
}

describe('a live run whose service closes the connection with code 1000 after a complete turn', () => {
  const turn = [{ heard: 'clientContent' as const }, { serverContent: { turnComplete: true } }];

  async function converse(server: FakeGeminiServer, runConfig: RunConfig): Promise<unknown[]> {
    const model = new Gemini({ model: 'gemini-live', apiKey: 'key', baseUrl: server.url });
    const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'helper', model }), autoCreateSession: true });
    const liveRequestQueue = new LiveRequestQueue();
    liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello?' }] });
    const seen: unknown[] = [];
    for await (const event of runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig })) {
      seen.push(event.errorCode ?? event.turnComplete);
      if (server.live.connections.length === 2) liveRequestQueue.close();
    }
    return seen;
  }

  test('connects again', async () => {
    await using server = await FakeGeminiServer.start();
    server.live.enqueue([...turn, { close: 1000, reason: 'bye' }]);
    server.live.enqueue([{ serverContent: { turnComplete: true } }]);
    expect(await converse(server, { responseModalities: ['TEXT'] })).toEqual([undefined, true, true]);
  });

  test('ends with a LiveConnectionError if liveReconnect is false', async () => {
    await using server = await FakeGeminiServer.start();
    server.live.enqueue([...turn, { close: 1000, reason: 'bye' }]);
    const runConfig: RunConfig = { responseModalities: ['TEXT'], liveReconnect: false };
    await expect(converse(server, runConfig)).rejects.toThrow(
      expect.objectContaining({ code: 'LIVE_CONNECTION', closeCode: 1000 }),
    );
    expect(server.live.connections).toHaveLength(1);
  });
});
