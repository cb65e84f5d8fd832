import { createEvent } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { EventType, toStructuredEvents } from './structured-events.ts';

const eventOf = (...parts: object[]) => createEvent({ author: 'helper', content: { role: 'model', parts } });

describe('toStructuredEvents', () => {
  test('splits an answer into its thought, its text and its end', () => {
    const events = toStructuredEvents(eventOf({ text: 'Hm.', thought: true }, { text: 'Hello.' }));
    expect(events).toEqual([
      { type: EventType.THOUGHT, content: 'Hm.' },
      { type: EventType.CONTENT, content: 'Hello.' },
      { type: EventType.FINISHED, output: undefined },
    ]);
  });

  test('returns calls, results and code in the order of the parts', () => {
    const call = { id: 'c1', name: 'get_time', args: {} };
    const result = { id: 'c0', name: 'get_time', response: { time: 'noon' } };
    const code = { code: '1', language: 'PYTHON' };
    const output = { outcome: 'OUTCOME_OK', output: '1' };
    const parts = [{ functionResponse: result }, { functionCall: call }, { executableCode: code }];
    expect(toStructuredEvents(eventOf(...parts, { codeExecutionResult: output }))).toEqual([
      { type: EventType.TOOL_RESULT, result },
      { type: EventType.TOOL_CALL, call },
      { type: EventType.CALL_CODE, code },
      { type: EventType.CODE_RESULT, result: output },
    ]);
  });

  test('returns the calls and the code of a streamed reply once, in its whole event', () => {
    const parts = [{ text: 'Look: ' }, { functionCall: { id: 'c1', name: 'f' } }, { executableCode: { code: '1' } }];
    const chunk = createEvent({ author: 'helper', partial: true, content: { role: 'model', parts } });
    expect(toStructuredEvents(chunk)).toEqual([{ type: EventType.CONTENT, content: 'Look: ' }]);
    expect(toStructuredEvents(eventOf(...parts)).map(({ type }) => type)).toEqual([
      'content',
      'tool_call',
      'call_code',
    ]);
  });

  test('returns only the error of an event with an error code', () => {
    const event = createEvent({ author: 'helper', errorCode: 'SAFETY', errorMessage: 'blocked' });
    expect(toStructuredEvents(event)).toEqual([
      { type: EventType.ERROR, error: expect.objectContaining({ name: 'Error', message: 'blocked' }) },
    ]);
  });

  test('ends an event without content, as the ADK does, but not a chunk', () => {
    const end = [{ type: EventType.FINISHED, output: undefined }];
    expect(toStructuredEvents(createEvent({ author: 'helper' }))).toEqual(end);
    expect(toStructuredEvents(createEvent({ author: 'helper', actions: { stateDelta: { step: 1 } } }))).toEqual(end);
    expect(toStructuredEvents(createEvent({ author: 'helper', partial: true }))).toEqual([]);
  });

  test('returns the calls that a person is asked to confirm', () => {
    const requestedToolConfirmations = { c1: { hint: 'Sure?', confirmed: false } };
    const event = createEvent({ author: 'helper', partial: true, actions: { requestedToolConfirmations } });
    expect(toStructuredEvents(event)).toEqual([
      { type: EventType.TOOL_CONFIRMATION, confirmations: requestedToolConfirmations },
    ]);
  });
});
