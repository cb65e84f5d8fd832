import { describe, expect, test } from 'vitest';
import { createErrorEvent, createEvent, createResponseEvent, cloneEvent } from './create-event.ts';
import { systemPlatform } from '../platform/platform.ts';
import { getStructuredOutput, STRUCTURED_OUTPUT } from './event.ts';

describe('createEvent', () => {
  test('leaves to the runner what it was not given', () => {
    expect(createEvent()).toEqual({
      id: '',
      invocationId: '',
      author: '',
      timestamp: 0,
      actions: { stateDelta: {}, artifactDelta: {} },
    });
  });

  test('keeps what it was given and completes the actions', () => {
    const event = createEvent({
      id: 'id',
      invocationId: 'e-1',
      author: 'agent',
      timestamp: 1.5,
      branch: 'a.b',
      object: 'custom',
      tags: ['t'],
      actions: { escalate: true },
    });
    expect(event).toEqual({
      id: 'id',
      invocationId: 'e-1',
      author: 'agent',
      timestamp: 1.5,
      branch: 'a.b',
      object: 'custom',
      tags: ['t'],
      actions: { stateDelta: {}, artifactDelta: {}, escalate: true },
    });
  });
});

test('an error event says its error in the fields of the ADK and in full', () => {
  expect(createErrorEvent({ author: 'agent' }, 'TIMEOUT', 'took too long')).toMatchObject({
    author: 'agent',
    object: 'error',
    errorCode: 'TIMEOUT',
    errorMessage: 'took too long',
    error: { type: 'TIMEOUT', message: 'took too long' },
  });
});

test('a response event carries the response, and what is said of the event wins', () => {
  const response = { content: { role: 'model', parts: [{ text: 'hi' }] }, modelVersion: 'm', finishReason: 'STOP' };
  expect(createResponseEvent({ author: 'agent', finishReason: 'OTHER' }, response)).toMatchObject({
    ...response,
    author: 'agent',
    finishReason: 'OTHER',
  });
});

test('a clone is a deep copy under an id of its own', () => {
  const event = createEvent({
    id: 'first',
    author: 'agent',
    content: { role: 'model', parts: [{ text: 'hi' }] },
    actions: { stateDelta: JSON.parse('{"a":{"b":1},"__proto__":2}') as Record<string, unknown> },
  });
  const clone = cloneEvent(event, { ...systemPlatform, newEventId: () => 'second' });
  expect(clone).toEqual({ ...event, id: 'second' });
  expect(JSON.stringify(clone.actions)).toBe(JSON.stringify(event.actions));
  expect(clone.content?.parts?.[0]).not.toBe(event.content?.parts?.[0]);
  expect(clone.actions.stateDelta['a']).not.toBe(event.actions.stateDelta['a']);
});

test('a clone has the same structured output, and none where there was none', () => {
  const output = new Map([['a', 1]]);
  const event = createEvent({ [STRUCTURED_OUTPUT]: output });
  expect(getStructuredOutput(cloneEvent(event))).toBe(output);
  expect(STRUCTURED_OUTPUT in cloneEvent(createEvent())).toBe(false);
});

test('structured output goes with neither JSON nor structuredClone', () => {
  const event = createEvent({ [STRUCTURED_OUTPUT]: { typed: true } });
  expect(getStructuredOutput(structuredClone(event))).toBeUndefined();
  expect(JSON.stringify(event)).not.toContain('typed');
});
