import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { ask, modelsOf, requestOf } from './fixtures/asked-gemini.ts';
import { DistantGemini } from './fixtures/distant-gemini.ts';

const server = DistantGemini.forEachTest();

const gemini = modelsOf(server, { retry: { attempts: 1 } });

test('unknown fields of a part are kept', async () => {
  const parts = [
    { text: 'a', partMetadata: { x: 1 }, somethingNew: { y: 2 } },
    { executableCode: { code: '1+1', language: 'PYTHON' } },
  ];
  await server.enqueue(jsonReply(wireResponse({ parts })));
  expect((await ask(gemini(), requestOf('Hi'))).content).toEqual({ role: 'model', parts });
});

test("usage metadata is plain data with the service's counts", async () => {
  const usage = {
    promptTokenCount: 10,
    candidatesTokenCount: 4,
    thoughtsTokenCount: 7,
    cachedContentTokenCount: 2,
    totalTokenCount: 21,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
  };
  await server.enqueue(jsonReply(wireResponse({ text: 'x', usage })));
  const { usageMetadata } = await ask(gemini(), requestOf('Hi'));
  expect(usageMetadata).toStrictEqual(usage);
  expect(Object.getOwnPropertyNames(usageMetadata)).toEqual(Object.keys(usage));
});

test('inline data of the model arrives unchanged', async () => {
  const inlineData = { data: 'iVBORw0KGgo=', mimeType: 'image/png' };
  await server.enqueue(jsonReply(wireResponse({ parts: [{ inlineData }] })));
  expect((await ask(gemini(), requestOf('Draw'))).content?.parts).toEqual([{ inlineData }]);
});

test('metadata of grounding, citations and URL context is kept', async () => {
  const candidate = {
    content: { role: 'model', parts: [{ text: 'x' }] },
    finishReason: 'STOP',
    groundingMetadata: { webSearchQueries: ['q'] },
    citationMetadata: { citationSources: [{ uri: 'https://example.com' }] },
    urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://example.com' }] },
    avgLogprobs: -0.5,
    logprobsResult: { chosenCandidates: [] },
  };
  await server.enqueue(jsonReply({ candidates: [candidate] }));
  expect(await ask(gemini(), requestOf('Hi'))).toEqual({
    content: candidate.content,
    finishReason: 'STOP',
    groundingMetadata: { webSearchQueries: ['q'] },
    citationMetadata: { citations: [{ uri: 'https://example.com' }] },
    urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://example.com' }] },
    avgLogprobs: -0.5,
    logprobsResult: { chosenCandidates: [] },
  });
});

test('further candidates become alternatives', async () => {
  const said = (text: string) => ({ role: 'model', parts: [{ text }] });
  await server.enqueue(
    jsonReply({
      candidates: [
        { content: said('one'), finishReason: 'STOP', index: 0 },
        { content: said('two'), finishReason: 'MAX_TOKENS', index: 1 },
      ],
    }),
  );
  expect(await ask(gemini(), requestOf('Hi', { candidateCount: 2 }))).toEqual({
    content: said('one'),
    finishReason: 'STOP',
    alternatives: [{ index: 1, content: said('two'), finishReason: 'MAX_TOKENS' }],
  });
});

test('a finish reason other than STOP becomes an error code beside the content', async () => {
  await server.enqueue(jsonReply(wireResponse({ text: 'The sky', finishReason: 'MAX_TOKENS' })));
  expect(await ask(gemini(), requestOf('Hi'))).toMatchObject({
    content: { parts: [{ text: 'The sky' }] },
    finishReason: 'MAX_TOKENS',
    errorCode: 'MAX_TOKENS',
    errorMessage: 'the model stopped: MAX_TOKENS',
  });
});

test('a blocked prompt is a response with the block reason', async () => {
  await server.enqueue(
    jsonReply({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 5 } }),
  );
  expect(await ask(gemini(), requestOf('Hi'))).toEqual({
    errorCode: 'PROHIBITED_CONTENT',
    errorMessage: 'the prompt was blocked: PROHIBITED_CONTENT',
    usageMetadata: { promptTokenCount: 5 },
  });
});

test('a reply without candidates is a response with an error code', async () => {
  await server.enqueue(jsonReply({ usageMetadata: { promptTokenCount: 5 } }));
  expect(await ask(gemini(), requestOf('Hi'))).toMatchObject({ errorCode: 'UNKNOWN_ERROR' });
});

test('a reply without a finish reason counts as complete', async () => {
  await server.enqueue(jsonReply(wireResponse({ text: 'x', finishReason: null })));
  expect(await ask(gemini(), requestOf('Hi'))).not.toHaveProperty('errorCode');
});
