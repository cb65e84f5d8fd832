import {
  type BaseLlmConnection,
  type LiveLlmResponse,
  type LlmRequest,
  RunAbortedError,
  createLlmRequest,
} from '@eventloom/core';
import type { FakeLiveScript, LiveClosing, LivePath } from '@eventloom/testing/fake-gemini';
import { fixedPlatform } from '@eventloom/testing';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { Gemini, type GeminiOptions } from '../gemini.ts';

// The server runs on Node, and tests reach it over the network: see tests/runtimes/gemini.
declare module 'vitest' {
  interface ProvidedContext {
    readonly fakeGemini: string;
  }
}

interface Seen {
  readonly fault?: string;
  readonly connections?: readonly {
    readonly path: LivePath;
    readonly headers: Readonly<Record<string, string>>;
    readonly setup: unknown;
    readonly received: readonly unknown[];
    readonly closed: LiveClosing;
  }[];
}

let url: string | undefined;
let open: BaseLlmConnection[];
beforeEach(() => {
  open = [];
});
afterEach(async () => {
  for (const connection of open) await connection.close();
  if (url !== undefined) expect(await stop()).not.toHaveProperty('fault');
});

async function start(...scripts: FakeLiveScript[]): Promise<string> {
  const response = await fetch(inject('fakeGemini'), { method: 'POST', body: JSON.stringify(scripts) });
  ({ url } = await response.json());
  return url ?? '';
}

/** Stops the server, closes open connections, and returns what the server received. */
async function stop(): Promise<Seen> {
  const response = await fetch(`${inject('fakeGemini')}?url=${url}`, { method: 'DELETE' });
  url = undefined;
  return response.json();
}

function gemini(options: Partial<GeminiOptions>): Gemini {
  return new Gemini({ model: 'gemini-live', apiKey: 'a-test-key', ...options });
}

async function connect(
  script: FakeLiveScript,
  options: Partial<GeminiOptions> = {},
  config: LlmRequest['config'] = {},
): Promise<BaseLlmConnection> {
  const baseUrl = await start(script);
  const connection = await gemini({ baseUrl, ...options }).connect({ ...createLlmRequest(), config });
  open.push(connection);
  return connection;
}

function text(said: string) {
  return { serverContent: { modelTurn: { parts: [{ text: said }] } } };
}

test.each(['binary', 'text'] as const)('in %s frames, all messages are sent and received in order', async (frames) => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index} Grüße 🌍`);
  const connection = await connect({ frames, steps: [{ heard: 'clientContent' }, ...texts.map(text)] });
  await connection.sendContent({ role: 'user', parts: [{ text: 'Hi' }] });
  await connection.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm;rate=16000' });
  const reader = connection.receive();
  const responses: LiveLlmResponse[] = [];
  while (responses.length < texts.length) responses.push((await reader.next()).value ?? {});
  expect(responses.map(({ content }) => content?.parts?.[0]?.text)).toEqual(texts);
  await connection.close();
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test('the key, the version, headers and the setup are sent', async () => {
  const connection = await connect([], { headers: { 'x-team': 'blue' } }, { sessionResumption: { handle: 'h1' } });
  await connection.close();
  const { connections = [] } = await stop();
  expect(connections).toMatchObject([
    {
      path: { apiVersion: 'v1beta', vertexai: false, apiKey: 'a-test-key' },
      headers: { 'x-team': 'blue' },
      setup: { model: 'models/gemini-live', sessionResumption: { handle: 'h1' } },
    },
  ]);
});

test('Vertex AI gets the key in a header', async () => {
  const connection = await connect([], { vertexai: true });
  await connection.close();
  const { connections = [] } = await stop();
  expect(connections).toMatchObject([{ path: { vertexai: true }, headers: { 'x-goog-api-key': 'a-test-key' } }]);
});

test.each([
  [{ setup: { close: 1008, reason: 'no such model' } }, { closeCode: 1008, isRetryable: false }],
  [{ setup: { close: 1011, reason: 'later' } }, { closeCode: 1011, isRetryable: true }],
  [{ setup: { cut: true as const } }, { closeCode: 1006, isRetryable: true }],
  [{ setup: 'no JSON' }, { isRetryable: true }],
  [{ status: 403 }, { isRetryable: false }],
  [{ status: 503 }, { isRetryable: true }],
])('a setup that is answered with %j fails with %j', async (answer, expected) => {
  await expect(connect(answer)).rejects.toMatchObject({ code: 'LIVE_CONNECTION', ...expected });
});

test('an unreachable host is a retryable error', async () => {
  const connecting = gemini({ baseUrl: 'http://127.0.0.1:1' }).connect(createLlmRequest());
  await expect(connecting).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
});

test('a setup that is not completed in time fails', async () => {
  const platform = fixedPlatform();
  const baseUrl = await start({ setup: null });
  const connecting = gemini({ baseUrl, platform, liveSetupTimeoutMs: 50 }).connect(createLlmRequest());
  const outcome = expect(connecting).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  await fetch(`${inject('fakeGemini')}?url=${baseUrl}&live`);
  platform.advance(50);
  await outcome;
});

test.each([
  [{ close: 1011, reason: 'Deadline expired' }, 1011],
  [{ cut: true as const }, 1006],
  ['{"toolCall":{"functionCalls":"f"}}', 1006],
])('frames before %j are read, then the end is thrown', async (step, closeCode) => {
  const connection = await connect([text('a'), step]);
  const reader = connection.receive();
  expect((await reader.next()).value).toEqual({ content: { role: 'model', parts: [{ text: 'a' }] } });
  await expect(reader.next()).rejects.toMatchObject({ code: 'LIVE_CONNECTION', closeCode, isRetryable: true });
});

test('an abort closes the connection', async () => {
  const controller = new AbortController();
  const baseUrl = await start([]);
  const connection = await gemini({ baseUrl }).connect(createLlmRequest(), controller.signal);
  const reading = expect(connection.receive().next()).rejects.toThrow(RunAbortedError);
  controller.abort();
  await reading;
});
