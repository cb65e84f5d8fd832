// Reads recordings from files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type FunctionCall, type LlmRequest, type LlmResponse, type Part, createLlmRequest } from '@eventloom/core';
import {
  FakeGeminiServer,
  type GeminiInteraction,
  type GeminiRecording,
  recordedReplies,
} from '@eventloom/testing/fake-gemini';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Gemini } from './gemini.ts';

/** Recordings of the real service. They are not part of this repository and may lie next to the checkout. */
const FOLDER = new URL('../../../../shared/fixtures/gemini/http/', import.meta.url);
const recorded = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith('.json')) : [];

let server: FakeGeminiServer;
beforeEach(async () => {
  server = await FakeGeminiServer.start();
});
afterEach(async () => {
  await server.close();
  server.assertConsumed();
});

/** Skips one test, which names the missing recordings. */
const names = recorded.length > 0 ? recorded : ['(no ../shared/fixtures/gemini beside this checkout: skipped)'];

test.skipIf(recorded.length === 0).each(names)('the recording %s is parsed as expected', async (name) => {
  const recording = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as GeminiRecording;
  server.enqueue(...recordedReplies(recording, { split: { seed: name.length, max: 400 } }));
  for (const [index, interaction] of recording.interactions.entries()) {
    const said = saidIn(interaction);
    const { chunks, whole, error } = await ask(interaction, recording.stream);

    if (interaction.request) expect(server.requests[index]?.body).toEqual(interaction.request);
    if (interaction.url !== undefined) expect(server.requests[index]?.path).toBe(interaction.url);
    if (said.error) {
      expect(error).toMatchObject({
        code: 'MODEL',
        message: expect.stringContaining(said.error.message.replace(/\.$/, '')),
        errorCode: said.error.status,
        status: said.error.code,
        ...(said.retryDelayMs !== undefined && { retryAfterMs: said.retryDelayMs }),
      });
      continue;
    }
    expect(error).toBeUndefined();
    expect(textIn(whole, false)).toBe(said.text);
    expect(textIn(whole, true)).toBe(said.thoughts);
    expect(callsIn(whole)).toEqual(said.calls);
    expect(signaturesIn(whole)).toEqual(said.signatures);
    expect(whole?.finishReason).toBe(said.finishReason);
    expect(whole?.usageMetadata).toEqual(said.usage);
    expect(whole?.modelVersion).toBe(said.modelVersion);
    expect(whole?.responseId).toBe(said.responseId);
    expect(whole?.errorCode).toBe(said.finishReason === 'STOP' ? undefined : (said.finishReason ?? 'UNKNOWN_ERROR'));
    if (!recording.stream) continue;
    expect(chunks.map((chunk) => textIn(chunk, false)).join('')).toBe(said.text);
    expect(chunks.map((chunk) => textIn(chunk, true)).join('')).toBe(said.thoughts);
    expect(chunks.flatMap(callsIn)).toEqual(said.calls);
    expect(chunks.every(({ responseId }) => responseId === said.responseId)).toBe(true);
  }
});

async function ask(
  interaction: GeminiInteraction,
  stream: boolean,
): Promise<{ chunks: LlmResponse[]; whole: LlmResponse | undefined; error: unknown }> {
  const { url = '' } = interaction;
  const vertexai = url.includes('/projects/');
  const model = new Gemini({
    model: /models\/([^:]+):/.exec(url)?.[1] ?? 'gemini-2.5-flash',
    apiKey: 'a-test-key',
    baseUrl: server.url,
    apiVersion: /^\/(\w+)\//.exec(url)?.[1],
    retry: { attempts: 1 },
    ...(vertexai && { vertexai, project: 'REDACTED', location: 'REDACTED' }),
  });
  const responses: LlmResponse[] = [];
  let error: unknown;
  try {
    for await (const response of model.generateContentAsync(requestOf(interaction), stream)) responses.push(response);
  } catch (thrown) {
    error = thrown;
  }
  return {
    chunks: responses.filter(({ partial }) => partial),
    whole: responses.find(({ partial }) => !partial),
    error,
  };
}

/** Converts a recorded HTTP request to a request of the runtime. */
function requestOf({ request = {} }: GeminiInteraction): LlmRequest {
  const { contents, generationConfig, ...rest } = request as Record<string, unknown>;
  return {
    ...createLlmRequest(),
    contents: (contents ?? [{ role: 'user', parts: [{ text: 'Hi' }] }]) as LlmRequest['contents'],
    config: { ...(generationConfig as object), ...rest },
  };
}

interface WireChunk {
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly status: string;
    readonly details?: { retryDelay?: string }[];
  };
  readonly candidates?: { readonly content?: { readonly parts?: Part[] }; readonly finishReason?: string }[];
  readonly usageMetadata?: object;
  readonly modelVersion?: string;
  readonly responseId?: string;
}

/** Returns the content of a recording, read without the code under test. */
function saidIn({ chunks }: GeminiInteraction) {
  const frames = chunks as readonly WireChunk[];
  const parts = frames.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  const texts = (thought: boolean) =>
    parts.filter((part) => (part.thought === true) === thought).map(({ text = '' }) => text);
  const seconds = frames[0]?.error?.details?.find(({ retryDelay }) => retryDelay)?.retryDelay;
  return {
    error: frames[0]?.error,
    retryDelayMs: seconds === undefined ? undefined : Math.round(Number.parseFloat(seconds) * 1000),
    text: texts(false).join(''),
    thoughts: texts(true).join(''),
    calls: callsOf(parts.flatMap(({ functionCall }) => functionCall ?? [])),
    signatures: parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []),
    finishReason: frames.findLast(({ candidates }) => candidates?.[0]?.finishReason)?.candidates?.[0]?.finishReason,
    usage: frames.findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata,
    modelVersion: frames.at(-1)?.modelVersion,
    responseId: frames[0]?.responseId,
  };
}

/** Returns the calls with their arguments. Pieces have no name, and their paths are single names in the recordings. */
function callsOf(pieces: readonly FunctionCall[]): { name: string; args: Record<string, unknown> }[] {
  const calls: { name: string; args: Record<string, unknown> }[] = [];
  for (const { name, args, partialArgs = [] } of pieces) {
    if (name !== undefined) calls.push({ name, args: { ...args } });
    const target = calls.at(-1)?.args ?? {};
    for (const { jsonPath = '', stringValue, numberValue } of partialArgs) {
      const key = jsonPath.replace('$.', '');
      const before = target[key];
      target[key] =
        stringValue === undefined ? numberValue : `${typeof before === 'string' ? before : ''}${stringValue}`;
    }
  }
  return calls;
}

function partsIn(response: LlmResponse | undefined): Part[] {
  return response?.content?.parts ?? [];
}

function textIn(response: LlmResponse | undefined, thoughts: boolean): string {
  return partsIn(response)
    .filter(({ thought }) => (thought === true) === thoughts)
    .map(({ text = '' }) => text)
    .join('');
}

function callsIn(response: LlmResponse | undefined): { name: string | undefined; args: object | undefined }[] {
  return partsIn(response).flatMap(({ functionCall }) =>
    functionCall ? { name: functionCall.name, args: functionCall.args ?? {} } : [],
  );
}

function signaturesIn(response: LlmResponse | undefined): string[] {
  return partsIn(response).flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
}
