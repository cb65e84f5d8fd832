import { type Event, EventTag } from '@eventloom/core';
import { Calls, withTag } from '@eventloom/core/internal';
import { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type AnswerEffect, effectOfAnswers } from './answered-calls.ts';

function calling(ids: readonly string[], longRunningToolIds: readonly string[] = ids): Event {
  return functionCallEvent(
    'bot',
    ids.map((id) => ({ id, name: 'f' })),
    { longRunningToolIds },
  );
}

function answering(author: string, ...ids: string[]): Event {
  return functionResponseEvent(
    author,
    ids.map((id) => ({ id, name: 'f', response: {} })),
  );
}

function readAnswers(events: readonly Event[], agentName: string): AnswerEffect {
  const message = events.findLast(({ author }) => author === 'user');
  const answered = message ? new Calls(events).respondedIn(message) : [];
  return effectOfAnswers(answered, { agent: { name: agentName }, branch: undefined });
}

function waits(events: readonly Event[]): boolean {
  return readAnswers(events, 'bot').waiting.length > 0;
}

// Long-running calls.

test('calls of an agent that is called as a tool may repeat the ids of its caller', () => {
  const inside = { ...answering('bot', 'a'), branch: 'helper@c1' };
  expect(waits([calling(['a', 'b']), inside, answering('user', 'b')])).toBe(true);
});

test('the agent waits after the first of two answers and continues after the second', () => {
  const events = [calling(['a', 'b']), answering('user', 'b')];
  expect(waits(events)).toBe(true);
  expect(waits([...events, answering('user', 'a')])).toBe(false);
});

test('an agent does not wait for the calls of the agent that transferred to it', () => {
  const events = [calling(['a', 'b']), answering('user', 'b')];
  expect(readAnswers(events, 'other')).toEqual({ toSettle: new Map(), waiting: [] });
});

test('the agent does not wait when one message holds both answers', () => {
  expect(waits([calling(['a', 'b']), answering('user', 'a', 'b')])).toBe(false);
});

test('the agent does not wait for a call that already has its response', () => {
  expect(waits([calling(['a', 'b'], ['b']), answering('bot', 'a'), answering('user', 'b')])).toBe(false);
});

test('the agent does not wait for a call without a response that is not long-running', () => {
  expect(waits([calling(['a', 'b'], ['b']), answering('user', 'b')])).toBe(false);
});

test('the agent does not wait for a long-running call that has a first response', () => {
  const events = [calling(['a', 'b']), answering('bot', 'a', 'b'), answering('user', 'b')];
  expect(waits(events)).toBe(false);
});

test('the agent answers a user message while calls are open', () => {
  expect(waits([calling(['a']), userEvent('hello?')])).toBe(false);
  expect(waits([calling(['a'])])).toBe(false);
  expect(waits([])).toBe(false);
});

test('effectOfAnswers considers only the calls of the answered reply', () => {
  const events = [calling(['a']), modelEvent('bot', 'waiting'), calling(['b']), answering('user', 'b')];
  expect(waits(events)).toBe(false);
});

test('effectOfAnswers ignores events of other agents after the answer', () => {
  const events = [calling(['a', 'b']), answering('user', 'b'), modelEvent('guard', 'noted')];
  expect(waits(events)).toBe(true);
  expect(waits([...events, answering('bot', 'a')])).toBe(false);
});

// Questions to a person.

const CALL = { id: 'a', name: 'f', args: { n: 1 } };
const question = functionCallEvent(
  'bot',
  [
    {
      id: 'q',
      name: 'adk_request_confirmation',
      args: { originalFunctionCall: CALL, toolConfirmation: { hint: 'Now?' } },
    },
  ],
  { longRunningToolIds: ['q'] },
);
const asking = [functionCallEvent('bot', [CALL]), question, answering('bot', 'a')];
const confirming = functionResponseEvent('user', [{ id: 'q', name: 'f', response: { confirmed: true } }]);

test('an answer resumes only the call of the agent that asked', () => {
  expect(readAnswers([...asking, confirming], 'bot').toSettle.get('a')).toEqual({
    call: CALL,
    refusal: undefined,
    confirmation: { hint: 'Now?', confirmed: true },
    eventId: expect.any(String),
    inputs: new Map(),
    requests: [question.content?.parts?.[0]?.functionCall],
    earlier: [],
  });
  expect(readAnswers([...asking, confirming], 'other').toSettle.size).toBe(0);
});

test('an imported call does not run again, even if its answer was imported too', () => {
  const imported = [...asking, confirming].map((event) => withTag(event, EventTag.imported));
  expect(readAnswers(imported, 'bot')).toEqual({ toSettle: new Map(), waiting: [] });
  expect(readAnswers([...imported.slice(0, -1), confirming], 'bot').toSettle.size).toBe(0);
});

test('a call that ran again does not run once more when the agent runs again with the same message', () => {
  const answers = readAnswers([...asking, confirming, answering('bot', 'a')], 'bot');
  expect(answers).toEqual({ toSettle: new Map(), waiting: [] });
});
