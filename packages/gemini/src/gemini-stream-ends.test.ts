import { createLlmRequest, type LlmResponse, ModelError } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { errorBody, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini } from './gemini.ts';

let server: DistantGemini;

/** What a streamed call yields, and what it throws. */
async function streamed(): Promise<{ chunks: LlmResponse[]; whole: LlmResponse | undefined; error: unknown }> {
  const platform = fixedPlatform();
  const model = new Gemini({ model: 'gemini-2.5-flash', apiKey: 'a-test-key', baseUrl: server.url, platform });
  const request = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
  const responses: LlmResponse[] = [];
  let error: unknown;
  try {
    for await (const response of model.generateContentAsync(request, true)) responses.push(response);
  } catch (thrown) {
    error = thrown;
  }
  return {
    chunks: responses.filter(({ partial }) => partial),
    whole: responses.find(({ partial }) => !partial),
    error,
  };
}

function textsOf(chunks: readonly LlmResponse[]): (string | undefined)[] {
  return chunks.flatMap(({ content }) => content?.parts?.map(({ text }) => text) ?? []);
}

beforeEach(async () => {
  server = await DistantGemini.start();
});

afterEach(async () => {
  await server.close();
  server.assertConsumed();
});

test('a finish other than STOP is an error code on the whole, not on a chunk', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky'], { finishReason: 'MAX_TOKENS' })));
  const { chunks, whole } = await streamed();
  expect(chunks.some(({ errorCode }) => errorCode !== undefined)).toBe(false);
  expect(whole).toMatchObject({
    content: { parts: [{ text: 'The sky' }] },
    finishReason: 'MAX_TOKENS',
    errorCode: 'MAX_TOKENS',
  });
});

test('a prompt that is blocked in a stream is a response with the reason', async () => {
  await server.enqueue(sseReply([{ promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'not allowed' } }]));
  const { chunks, whole } = await streamed();
  expect(chunks).toEqual([]);
  expect(whole).toMatchObject({ errorCode: 'SAFETY', errorMessage: 'not allowed' });
});

test('a stream with nothing in it is a response with an error code', async () => {
  await server.enqueue(sseReply([]));
  expect(await streamed()).toMatchObject({ chunks: [], whole: { errorCode: 'UNKNOWN_ERROR' } });
});

test('a text that stops without a finish reason is marked, a call is not', async () => {
  await server.enqueue(
    sseReply([wireResponse({ text: 'The sky', finishReason: null })]),
    sseReply([wireResponse({ calls: [{ name: 'f' }], finishReason: null })]),
  );
  expect((await streamed()).whole).toMatchObject({
    content: { parts: [{ text: 'The sky' }] },
    errorCode: 'NO_FINISH_REASON',
  });
  expect((await streamed()).whole).not.toHaveProperty('errorCode');
});

test('a stream that is cut midway throws after its chunks, and is not asked again', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky', ' is']).slice(0, 2), { end: 'cut' }));
  const { chunks, whole, error } = await streamed();
  expect(textsOf(chunks)).toEqual(['The', ' sky']);
  expect(whole).toBeUndefined();
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true });
});

test('a stream that ends inside a frame throws after its chunks', async () => {
  await server.enqueue(
    sseReply([wireResponse({ text: 'The', finishReason: null }), 'data: {"candidates":[{"content"']),
  );
  const { chunks, error } = await streamed();
  expect(textsOf(chunks)).toEqual(['The']);
  expect(error).toMatchObject({ code: 'MODEL', errorCode: 'UNAVAILABLE' });
});

test('a frame that is no JSON throws after the chunks before it', async () => {
  await server.enqueue(
    sseReply([
      wireResponse({ text: 'The', finishReason: null }),
      'data: {"candidates":[}\r\n\r\n',
      wireResponse('never'),
    ]),
  );
  const { chunks, error } = await streamed();
  expect(textsOf(chunks)).toEqual(['The']);
  expect(error).toMatchObject({ code: 'MODEL', errorCode: 'DATA_LOSS', retryable: false });
});

test('an error in the middle of a stream throws with the service’s words', async () => {
  const overloaded = errorBody({ code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' });
  await server.enqueue(sseReply([wireResponse({ text: 'The', finishReason: null }), overloaded]));
  const { chunks, error } = await streamed();
  expect(textsOf(chunks)).toEqual(['The']);
  expect(error).toMatchObject({
    message: 'The model is overloaded.',
    errorCode: 'UNAVAILABLE',
    status: 503,
    retryable: true,
  });
});
