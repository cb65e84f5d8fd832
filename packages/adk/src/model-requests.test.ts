import { createLlmRequest } from '@eventloom/core';
import { expect, test } from 'vitest';
import { ActiveStreamingTool, appendInstructions, createLlmResponse, LiveRequestQueue, Task } from './index.ts';

test('instructions are appended to those of a request', () => {
  const request = createLlmRequest();
  appendInstructions(request, ['Be brief.']);
  appendInstructions(request, ['Answer in French.', 'Say please.']);
  expect(request.config.systemInstruction).toBe('Be brief.\n\nAnswer in French.\n\nSay please.');
});

test('an answer of the service becomes a response of a model', () => {
  const content = { role: 'model', parts: [{ text: 'Noon.' }] };
  const usageMetadata = { totalTokenCount: 3 };
  expect(createLlmResponse({ candidates: [{ content, finishReason: 'STOP' as never }], usageMetadata })).toEqual({
    content,
    finishReason: 'STOP',
    usageMetadata,
  });
});

test.each([
  ['empty', {}, 'UNKNOWN_ERROR'],
  ['blocked', { promptFeedback: { blockReason: 'SAFETY' as never } }, 'SAFETY'],
  ['truncated', { candidates: [{ finishReason: 'MAX_TOKENS' as never }] }, 'MAX_TOKENS'],
])('an answer that is %s has an error code', (_title, answer, errorCode) => {
  expect(createLlmResponse(answer)).toMatchObject({ errorCode, errorMessage: expect.any(String) });
});

test('an active streaming tool keeps its task and its stream', async () => {
  const stream = new LiveRequestQueue();
  const tool = new ActiveStreamingTool({ task: Promise.resolve(), stream });
  expect([tool.stream, tool.task instanceof Task]).toEqual([stream, true]);
  await tool.task?.promise;
  expect(new ActiveStreamingTool()).toMatchObject({ task: undefined, stream: undefined });
});
