import { createEvent, type Event } from '@eventloom/core';
import {
  functionCallEvent,
  functionResponseEvent,
  modelEvent,
  ScriptedModel,
  type ScriptedStep,
  userEvent,
} from '@eventloom/testing';
import { expect, test } from 'vitest';
import { LlmEventSummarizer } from './llm-event-summarizer.ts';

const { signal } = new AbortController();

/** Returns the prompt and the summary of events, by a model that plays this step. */
async function summarize(events: readonly Event[], step: ScriptedStep) {
  const model = new ScriptedModel([step]);
  const summarizer = new LlmEventSummarizer({ model, promptTemplate: 'Sum up: {conversation_history}' });
  const event = await summarizer.maybeSummarizeEvents({ events, abortSignal: signal });
  return { event, prompt: model.requests[0]?.request.contents[0]?.parts?.[0]?.text };
}

test('the summarizer sends the model a transcript with authors, calls and responses, without thoughts and requests of the runtime', async () => {
  const { prompt } = await summarize(
    [
      userEvent([{ text: 'Costs $& and $1?' }, { inlineData: { mimeType: 'image/png', data: 'AA==' } }]),
      modelEvent('bot', [{ text: 'hm', thought: true }, { text: 'I will look.' }]),
      functionCallEvent('bot', [{ id: 'c', name: 'look', args: { at: 1 } }]),
      functionResponseEvent('bot', [{ id: 'c', name: 'look', response: { found: true } }]),
      functionCallEvent('bot', [{ id: 'q', name: 'adk_request_confirmation', args: {} }]),
      functionCallEvent('bot', [{ id: 'r', name: 'adk_request_input', args: { interruptId: 'r' } }]),
      userEvent([{ functionResponse: { id: 'r', name: 'adk_request_input', response: { result: 1 } } }]),
      functionCallEvent('bot', [{ id: 'own', name: 'adk_request_input', args: { message: 'Which?' } }]),
      userEvent([{ functionResponse: { id: 'own', name: 'adk_request_input', response: { result: 'blue' } } }]),
      createEvent({ author: 'user', inputTranscription: { text: 'Thanks.' } }),
    ],
    'ok',
  );
  expect(prompt).toBe(
    [
      'Sum up: user: Costs $& and $1?',
      'user attached image/png',
      'bot: I will look.',
      'bot called the tool look: {"at":1}',
      'The tool look answered: {"found":true}',
      'bot called the tool adk_request_input: {"message":"Which?"}',
      'The tool adk_request_input answered: {"result":"blue"}',
      'user: Thanks.',
    ].join('\n\n'),
  );
});

test('the summary event holds the text without thoughts, and the usage', async () => {
  const usageMetadata = { promptTokenCount: 7 };
  const { event } = await summarize([userEvent('hi')], {
    thought: 'hm',
    text: 'Greetings.',
    response: { usageMetadata },
  });
  expect(event?.actions.compaction?.compactedContent).toEqual({ role: 'model', parts: [{ text: 'Greetings.' }] });
  expect(event?.usageMetadata).toEqual(usageMetadata);
});

test('the summarizer returns undefined and does not call the model when there is nothing to summarize', async () => {
  const model = new ScriptedModel([]);
  const summarizer = new LlmEventSummarizer({ model });
  const events = [createEvent({ author: 'bot', actions: { stateDelta: { key: 1 } } })];
  expect(await summarizer.maybeSummarizeEvents({ events, abortSignal: signal })).toBeUndefined();
  expect(model.calls).toBe(0);
});

test.each([
  ['is empty', { text: ' ' }],
  ['is incomplete', { text: 'The user wan', response: { finishReason: 'MAX_TOKENS' } }],
  ['was refused', { text: '', response: { errorCode: 'SAFETY', errorMessage: 'no' } }],
])('the summarizer throws a ModelError for a summary that %s', async (_, step) => {
  await expect(summarize([userEvent('hi')], step)).rejects.toThrow(expect.objectContaining({ code: 'MODEL' }));
});

test('the model call is aborted when the run is aborted', async () => {
  const abort = new AbortController();
  abort.abort();
  const summarizer = new LlmEventSummarizer({ model: new ScriptedModel(['never']) });
  const request = { events: [userEvent('hi')], abortSignal: abort.signal };
  await expect(summarizer.maybeSummarizeEvents(request)).rejects.toThrow(
    expect.objectContaining({ code: 'RUN_ABORTED' }),
  );
});

test('LlmEventSummarizer rejects a template without the conversation and a missing model', () => {
  const model = new ScriptedModel([]);
  expect(() => new LlmEventSummarizer({ model, promptTemplate: 'Sum up.' })).toThrow(/conversation_history/);
  expect(() => new LlmEventSummarizer({ model: 'name' as never })).toThrow(/model: expected a model object/);
});
