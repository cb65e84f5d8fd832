import { type LlmResponse, createLlmRequest } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { cutReply, errorReply, jsonReply, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini, type GeminiOptions } from './gemini.ts';

const server = DistantGemini.forEachTest();

async function ask(options: Partial<GeminiOptions>, stream = false): Promise<LlmResponse[]> {
  const model = new Gemini({
    model: 'gemini-2.5-pro',
    apiKey: 'a-test-key',
    baseUrl: server.url,
    retry: { attempts: 2, initialDelayMs: 0 },
    ...options,
  });
  const request = {
    ...createLlmRequest(),
    model: 'gemini-2.5-pro',
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
  };
  const responses: LlmResponse[] = [];
  for await (const response of model.generateContentAsync(request, stream)) responses.push(response);
  return responses;
}

const busy = errorReply({ code: 503, status: 'UNAVAILABLE' });

test('the fallback model is called when all attempts of the first model fail', async () => {
  await server.enqueue(busy, cutReply(), jsonReply(wireResponse('from the other')));
  expect(await ask({ fallbackModel: 'gemini-2.5-flash' })).toMatchObject([
    { content: { parts: [{ text: 'from the other' }] } },
  ]);
  expect((await server.requests()).map(({ model }) => model)).toEqual([
    'gemini-2.5-pro',
    'gemini-2.5-pro',
    'gemini-2.5-flash',
  ]);
});

test('the fallback model streams if the call does', async () => {
  await server.enqueue(busy, busy, sseReply(wireChunks(['a', 'b'])));
  expect(await ask({ fallbackModel: 'gemini-2.5-flash' }, true)).toMatchObject([
    { partial: true },
    { partial: true },
    { finishReason: 'STOP' },
  ]);
});

test('the fallback may be a model object of another class', async () => {
  const other = new ScriptedModel(
    [{ text: 'from elsewhere', expect: { matches: ({ model }) => model === 'elsewhere' } }],
    { model: 'elsewhere' },
  );
  await server.enqueue(busy, busy);
  expect(await ask({ fallbackModel: other })).toMatchObject([{ content: { parts: [{ text: 'from elsewhere' }] } }]);
  other.assertConsumed();
});

test('an exhausted quota calls the fallback model without a retry', async () => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }];
  await server.enqueue(
    errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ violations }] }),
    jsonReply(wireResponse('x')),
  );
  expect(await ask({ fallbackModel: 'gemini-2.5-flash' })).toHaveLength(1);
});

test('the fallback has as many attempts as the first model, and its error is thrown', async () => {
  const last = errorReply({ code: 500, status: 'INTERNAL', message: 'the last' });
  await server.enqueue(busy, busy, busy, last);
  await expect(ask({ fallbackModel: 'gemini-2.5-flash' })).rejects.toThrow('the last');
});

test('an invalid request does not call the fallback', async () => {
  await server.enqueue(errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: 'no' }));
  await expect(ask({ fallbackModel: 'gemini-2.5-flash' })).rejects.toThrow('no');
});

test('a stream that fails after its first chunk does not call the fallback', async () => {
  await server.enqueue(sseReply(wireChunks(['a', 'b']).slice(0, 1), { end: 'cut' }));
  await expect(ask({ fallbackModel: 'gemini-2.5-flash' }, true)).rejects.toMatchObject({ errorCode: 'UNAVAILABLE' });
});
