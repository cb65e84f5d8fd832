import { ModelError } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { errorBody, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { modelsOf, streamed, textsOf } from './fixtures/asked-gemini.ts';
import { DistantGemini } from './fixtures/distant-gemini.ts';

const server = DistantGemini.forEachTest();

const gemini = modelsOf(server);

test('a finish reason other than STOP is an error code on the whole response, not on a chunk', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky'], { finishReason: 'MAX_TOKENS' })));
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(chunks.some(({ errorCode }) => errorCode !== undefined)).toBe(false);
  expect(whole).toMatchObject({
    content: { parts: [{ text: 'The sky' }] },
    finishReason: 'MAX_TOKENS',
    errorCode: 'MAX_TOKENS',
  });
});

test('a prompt blocked in a stream is a response with the block reason', async () => {
  await server.enqueue(sseReply([{ promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'not allowed' } }]));
  const { chunks, whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(chunks).toEqual([]);
  expect(whole).toMatchObject({ errorCode: 'SAFETY', errorMessage: 'not allowed' });
});

test('an empty stream is a response with an error code', async () => {
  await server.enqueue(sseReply([]));
  expect(await streamed(gemini({ platform: fixedPlatform() }))).toMatchObject({
    chunks: [],
    whole: { errorCode: 'UNKNOWN_ERROR' },
  });
});

test('a stream that ends without a finish reason has the code NO_FINISH_REASON after text, and INCOMPLETE_CALL without the call after a call', async () => {
  await server.enqueue(
    sseReply([wireResponse({ text: 'The sky', finishReason: null })]),
    sseReply([wireResponse({ text: 'I look.', calls: [{ name: 'f' }], finishReason: null })]),
  );
  expect((await streamed(gemini({ platform: fixedPlatform() }))).whole).toMatchObject({
    content: { parts: [{ text: 'The sky' }] },
    errorCode: 'NO_FINISH_REASON',
  });
  const { whole } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(whole).toMatchObject({ errorCode: 'INCOMPLETE_CALL', errorMessage: expect.stringContaining('"f"') });
  expect(whole?.content?.parts).toEqual([{ text: 'I look.' }]);
});

test('a stream that is interrupted throws after its chunks, and is not retried', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky', ' is']).slice(0, 2), { end: 'cut' }));
  const { chunks, whole, error } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(['The', ' sky']);
  expect(whole).toBeUndefined();
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true });
});

test('a stream that ends inside a frame throws after its chunks', async () => {
  await server.enqueue(
    sseReply([wireResponse({ text: 'The', finishReason: null }), 'data: {"candidates":[{"content"']),
  );
  const { chunks, error } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(['The']);
  expect(error).toMatchObject({ code: 'MODEL', errorCode: 'UNAVAILABLE' });
});

test('a frame that is not JSON throws after the chunks before it', async () => {
  await server.enqueue(
    sseReply([
      wireResponse({ text: 'The', finishReason: null }),
      'data: {"candidates":[}\r\n\r\n',
      wireResponse('never'),
    ]),
  );
  const { chunks, error } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(['The']);
  expect(error).toMatchObject({ code: 'MODEL', errorCode: 'DATA_LOSS', retryable: false });
});

test("an error during a stream is thrown with the service's message", async () => {
  const overloaded = errorBody({ code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' });
  await server.enqueue(sseReply([wireResponse({ text: 'The', finishReason: null }), overloaded]));
  const { chunks, error } = await streamed(gemini({ platform: fixedPlatform() }));
  expect(textsOf(chunks)).toEqual(['The']);
  expect(error).toMatchObject({
    message: 'The model is overloaded.',
    errorCode: 'UNAVAILABLE',
    status: 503,
    retryable: true,
  });
});
