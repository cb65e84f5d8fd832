import { expect, test } from 'vitest';
import { toLiveResponse } from './to-live-response.ts';

const AUDIO = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } };

test.each<[string, object]>([
  ['a setup', { setupComplete: { sessionId: 's1' } }],
  ['an empty content', { serverContent: {} }],
  ['a turn without parts', { serverContent: { modelTurn: { parts: [] } } }],
  ['a transcription without text', { serverContent: { outputTranscription: {} } }],
  ['calls without a call', { toolCall: { functionCalls: [] }, toolCallCancellation: { ids: [] } }],
  ['a signal of voice activity', { voiceActivity: { type: 'ACTIVITY_START' } }],
])('%s gives no response', (_, message) => {
  expect(toLiveResponse(message)).toBeUndefined();
});

test('parts are kept unchanged, and a missing role becomes model', () => {
  const parts = [{ text: 'Hm.', thought: true, thoughtSignature: 'c2ln' }, AUDIO];
  const response = toLiveResponse({ serverContent: { modelTurn: { parts } } });
  expect(response).toEqual({ content: { role: 'model', parts } });
  expect(response?.content?.parts).toBe(parts);
  expect(toLiveResponse({ serverContent: { modelTurn: { role: 'user', parts } } })?.content?.role).toBe('user');
});

test('calls become parts after the text of the same message', () => {
  const call = { id: 'c1', name: 'f', args: { a: 1 } };
  expect(toLiveResponse({ toolCall: { functionCalls: [call, { ...call, id: 'c2' }] } })).toEqual({
    content: { role: 'model', parts: [{ functionCall: call }, { functionCall: { ...call, id: 'c2' } }] },
  });
  const message = { serverContent: { modelTurn: { parts: [{ text: 'a' }] } }, toolCall: { functionCalls: [call] } };
  expect(toLiveResponse(message)?.content?.parts).toEqual([{ text: 'a' }, { functionCall: call }]);
  expect(message.serverContent.modelTurn.parts).toHaveLength(1);
});

test('all fields of one message become one response', () => {
  expect(
    toLiveResponse({
      serverContent: {
        modelTurn: { parts: [AUDIO] },
        inputTranscription: { text: 'Hi' },
        outputTranscription: { text: 'Hello', finished: true },
        groundingMetadata: { webSearchQueries: ['q'] },
        urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://example.com/' }] },
        generationComplete: true,
        interrupted: true,
        turnComplete: true,
      },
      usageMetadata: {
        promptTokenCount: 1,
        responseTokenCount: 2,
        totalTokenCount: 3,
        responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 2 }],
      },
      toolCallCancellation: { ids: ['c1'] },
      sessionResumptionUpdate: { newHandle: 'h2', resumable: true },
      goAway: { timeLeft: '9.5s' },
    }),
  ).toEqual({
    content: { role: 'model', parts: [AUDIO] },
    inputTranscription: { text: 'Hi' },
    outputTranscription: { text: 'Hello', finished: true },
    groundingMetadata: { webSearchQueries: ['q'] },
    urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://example.com/' }] },
    generationComplete: true,
    interrupted: true,
    turnComplete: true,
    usageMetadata: {
      promptTokenCount: 1,
      candidatesTokenCount: 2,
      totalTokenCount: 3,
      candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 2 }],
    },
    toolCallCancellation: { ids: ['c1'] },
    liveSessionResumptionUpdate: { newHandle: 'h2', resumable: true },
    goAway: { timeLeftMs: 9500 },
  });
});

test("Vertex AI's usage counts keep their names", () => {
  const usageMetadata = { candidatesTokenCount: 2, trafficType: 'ON_DEMAND' };
  expect(toLiveResponse({ usageMetadata })).toEqual({ usageMetadata });
});

test('an update with resumable false is kept', () => {
  expect(toLiveResponse({ sessionResumptionUpdate: { resumable: false } })).toEqual({
    liveSessionResumptionUpdate: { resumable: false },
  });
  expect(toLiveResponse({ sessionResumptionUpdate: {} })).toEqual({ liveSessionResumptionUpdate: {} });
});

test('a goAway without timeLeft is kept', () => {
  expect(toLiveResponse({ goAway: {} })).toEqual({ goAway: {} });
  expect(toLiveResponse({ goAway: { timeLeft: '0s' } })).toEqual({ goAway: { timeLeftMs: 0 } });
});

test('an abnormal turnCompleteReason becomes an error code, NEED_MORE_INPUT does not', () => {
  expect(toLiveResponse({ serverContent: { turnComplete: true, turnCompleteReason: 'RESPONSE_REJECTED' } })).toEqual({
    turnComplete: true,
    finishReason: 'RESPONSE_REJECTED',
    errorCode: 'RESPONSE_REJECTED',
    errorMessage: expect.any(String),
  });
  expect(toLiveResponse({ serverContent: { turnComplete: true, turnCompleteReason: 'NEED_MORE_INPUT' } })).toEqual({
    turnComplete: true,
    finishReason: 'NEED_MORE_INPUT',
  });
});

test('an error becomes errorCode and errorMessage', () => {
  expect(toLiveResponse({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow down' } })).toEqual({
    errorCode: 'RESOURCE_EXHAUSTED',
    errorMessage: 'slow down',
  });
  expect(toLiveResponse({ error: { code: 429 } })).toEqual({ errorCode: 'RESOURCE_EXHAUSTED' });
  expect(toLiveResponse({ error: { code: 503 } })).toEqual({ errorCode: 'UNAVAILABLE' });
  expect(toLiveResponse({ error: { code: 7 } })).toEqual({ errorCode: '7' });
  expect(toLiveResponse({ error: {} })).toEqual({ errorCode: 'UNKNOWN' });
});
