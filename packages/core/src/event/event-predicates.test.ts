import { describe, expect, test } from 'vitest';
import type { Part } from '../content/content.ts';
import { createErrorEvent, createEvent, type EventParams } from './create-event.ts';
import type { Event } from './event.ts';
import {
  getFunctionCalls,
  getFunctionResponses,
  hasTrailingCodeExecutionResult,
  isDoneResponse,
  isFinalResponse,
} from './event-predicates.ts';

const TEXT: Part = { text: 'Paris' };
const CALL: Part = { functionCall: { id: 'c1', name: 'lookup', args: { city: 'Paris' } } };
const RESPONSE: Part = { functionResponse: { id: 'c1', name: 'lookup', response: { result: 1 } } };
const CODE: Part = { executableCode: { code: '1+1', language: 'PYTHON' } };
const CODE_RESULT: Part = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '2' } };

function eventOf(parts: Part[], params: EventParams = {}): Event {
  return createEvent({ author: 'agent', content: { role: 'model', parts }, ...params });
}

describe('getFunctionCalls and getFunctionResponses', () => {
  test('return the calls and the responses in order', () => {
    const other: Part = { functionCall: { id: 'c2', name: 'other' } };
    const event = eventOf([CALL, TEXT, RESPONSE, other]);
    expect(getFunctionCalls(event)).toEqual([CALL.functionCall, other.functionCall]);
    expect(getFunctionResponses(event)).toEqual([RESPONSE.functionResponse]);
  });

  test('return an empty list for an event without content or parts', () => {
    for (const event of [createEvent(), createEvent({ content: { role: 'model' } })]) {
      expect(getFunctionCalls(event)).toEqual([]);
      expect(getFunctionResponses(event)).toEqual([]);
    }
  });
});

test('a code execution result counts as trailing only in the last part', () => {
  expect(hasTrailingCodeExecutionResult(eventOf([CODE, CODE_RESULT]))).toBe(true);
  expect(hasTrailingCodeExecutionResult(eventOf([CODE_RESULT, TEXT]))).toBe(false);
  expect(hasTrailingCodeExecutionResult(createEvent())).toBe(false);
});

describe('isFinalResponse', () => {
  const final: [string, Event][] = [
    ['a whole text', eventOf([TEXT])],
    ['a file', eventOf([{ inlineData: { data: 'AA', mimeType: 'image/png' } }])],
    ['text after executed code', eventOf([CODE, CODE_RESULT, TEXT])],
    ['text with a state change', eventOf([TEXT], { actions: { stateDelta: { a: 1 } } })],
    ['an error without content', createErrorEvent({ author: 'agent' }, 'SAFETY', 'blocked')],
    ['an error in the fields of the ADK alone', createEvent({ errorCode: 'SAFETY' })],
    ["the error's message alone", createEvent({ errorMessage: 'blocked' })],
    ['an error in full alone', createEvent({ error: { type: 'x', message: 'y' } })],
    ['function responses that are not to be summarised', eventOf([RESPONSE], { actions: { skipSummarization: true } })],
    ['a call that continues in the background', eventOf([CALL], { longRunningToolIds: ['c1'] })],
    ['a message of the user', eventOf([TEXT], { author: 'user' })],
  ];
  test.each(final)('is true for %s', (_name, event) => {
    expect(isFinalResponse(event)).toBe(true);
  });

  const interim: [string, Event][] = [
    ['a chunk', eventOf([TEXT], { partial: true })],
    ['a function call', eventOf([TEXT, CALL])],
    ['a function call with an empty list of long-running ids', eventOf([CALL], { longRunningToolIds: [] })],
    ['a function response', eventOf([RESPONSE])],
    ['a function response beside text', eventOf([RESPONSE, TEXT])],
    ['executed code whose result trails', eventOf([CODE, CODE_RESULT])],
    ['a state change alone', createEvent({ actions: { stateDelta: { a: 1 } } })],
    ['an artifact change alone', createEvent({ actions: { artifactDelta: { 'a.txt': 0 } } })],
    ['a hand-off signal alone', createEvent({ actions: { transferToAgent: 'b' } })],
    ['an escalation alone', createEvent({ actions: { escalate: true } })],
    ['skipSummarization without function responses', createEvent({ actions: { skipSummarization: true } })],
    ['content without parts', createEvent({ content: { role: 'model' } })],
    ['content with an empty list of parts', eventOf([])],
    ['a finished turn of a live session', createEvent({ turnComplete: true })],
    ['a count of tokens alone', createEvent({ usageMetadata: { totalTokenCount: 3 } })],
    ['an announcement of a hand-off', eventOf([TEXT], { object: 'agent.transfer' })],
    ['the completion of the run', createEvent({ author: 'app', object: 'runner.completion' })],
  ];
  test.each(interim)('is false for %s', (_name, event) => {
    expect(isFinalResponse(event)).toBe(false);
  });

  test('is true for text with skipSummarization', () => {
    expect(isFinalResponse(eventOf([TEXT], { actions: { skipSummarization: true } }))).toBe(true);
    expect(isFinalResponse(eventOf([CALL], { actions: { skipSummarization: true } }))).toBe(false);
  });
});

describe('isDoneResponse', () => {
  test('is true for a whole reply or an error', () => {
    expect(isDoneResponse(eventOf([TEXT]))).toBe(true);
    expect(isDoneResponse(createErrorEvent({}, 'SAFETY', 'blocked'))).toBe(true);
    expect(isDoneResponse(createEvent({ errorCode: 'SAFETY' }))).toBe(true);
  });

  test('is false for chunks, calls and events without content', () => {
    expect(isDoneResponse(eventOf([TEXT], { partial: true }))).toBe(false);
    expect(isDoneResponse(eventOf([TEXT, CALL]))).toBe(false);
    expect(isDoneResponse(eventOf([]))).toBe(false);
    expect(isDoneResponse(createEvent({ actions: { stateDelta: { a: 1 } } }))).toBe(false);
  });
});
