import { createLlmRequest, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { FallbackModel } from '@eventloom/llm-agent';
import { cutReply, errorReply, jsonReply, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini } from './gemini.ts';

const server = DistantGemini.forEachTest();
const busy = errorReply({ code: 503, status: 'UNAVAILABLE' });
const asked = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };

async function ask(request: LlmRequest = asked, stream = false): Promise<LlmResponse[]> {
  const models = ['gemini-3-pro-preview', 'gemini-2.5-flash'].map(
    (model) =>
      new Gemini({ model, apiKey: 'a-test-key', baseUrl: server.url, retry: { attempts: 2, initialDelayMs: 0 } }),
  );
  const responses: LlmResponse[] = [];
  for await (const response of new FallbackModel({ models }).generateContentAsync(request, stream))
    responses.push(response);
  return responses;
}

const models = async () => (await server.requests()).map(({ model }) => model);

test('the next model is called when all attempts of the first one fail', async () => {
  await server.enqueue(busy, cutReply(), sseReply(wireChunks(['a', 'b'])));
  expect(await ask(asked, true)).toMatchObject([{ partial: true }, { partial: true }, { finishReason: 'STOP' }]);
  expect(await models()).toEqual(['gemini-3-pro-preview', 'gemini-3-pro-preview', 'gemini-2.5-flash']);
});

test('an exhausted quota calls the next model without a retry', async () => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel' }];
  const quota = errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ violations }] });
  await server.enqueue(quota, jsonReply(wireResponse('x')));
  expect(await ask()).toMatchObject([
    { customMetadata: { fallback: { failed: [{ errorCode: 'RESOURCE_EXHAUSTED' }] } } },
  ]);
});

test.each([{}, { content: { role: 'model', parts: [{ text: '' }] } }])(
  'a whole answer with the empty candidate %j calls the next model',
  async (candidate) => {
    await server.enqueue(jsonReply({ candidates: [candidate] }), jsonReply(wireResponse('x')));
    expect(await ask()).toMatchObject([{ customMetadata: { fallback: { failed: [{ errorCode: 'UNKNOWN_ERROR' }] } } }]);
  },
);

test('the next model has as many attempts as the first one, and its error is thrown', async () => {
  const last = errorReply({ code: 500, status: 'INTERNAL', message: 'the last' });
  await server.enqueue(busy, busy, busy, last);
  await expect(ask()).rejects.toThrow('the last');
});

test('an invalid request, and a stream that fails after its first chunk, call no other model', async () => {
  await server.enqueue(errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: 'no' }));
  await expect(ask()).rejects.toThrow('no');
  await server.enqueue(sseReply(wireChunks(['a', 'b']).slice(0, 1), { end: 'cut' }));
  await expect(ask(asked, true)).rejects.toMatchObject({ errorCode: 'UNAVAILABLE' });
  expect(await models()).toEqual(['gemini-3-pro-preview', 'gemini-3-pro-preview']);
});

test('a model without media in function responses gets the media after them', async () => {
  await server.enqueue(busy, busy, jsonReply(wireResponse('I see.')));
  const png = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  const functionResponse = { id: 'c1', name: 'shoot', response: { page: 3 } };
  const contents = [
    { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'shoot', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { ...functionResponse, parts: [png] } }] },
  ];
  await ask({ ...createLlmRequest(), contents });
  const sent = (await server.requests()).map(({ body }) => body.contents?.at(-1));
  expect(sent).toEqual([contents[1], contents[1], { role: 'user', parts: [{ functionResponse }, png] }]);
});
