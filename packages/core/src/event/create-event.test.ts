import { describe, expect, test } from 'vitest';
import { createErrorEvent, createEvent } from './create-event.ts';
import { getStructuredOutput, STRUCTURED_OUTPUT } from './event.ts';

describe('createEvent', () => {
  test('leaves a missing id, author and timestamp empty for the runner', () => {
    expect(createEvent()).toEqual({
      id: '',
      invocationId: '',
      author: '',
      timestamp: 0,
      actions: { stateDelta: {}, artifactDelta: {} },
    });
  });

  test('keeps the given fields and adds missing deltas', () => {
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

test('createErrorEvent sets the error fields of the ADK and event.error', () => {
  expect(createErrorEvent({ author: 'agent' }, 'TIMEOUT', 'took too long')).toMatchObject({
    author: 'agent',
    object: 'error',
    errorCode: 'TIMEOUT',
    errorMessage: 'took too long',
    error: { type: 'TIMEOUT', message: 'took too long' },
  });
});

test('JSON and structuredClone leave out the structured output', () => {
  const event = createEvent({ [STRUCTURED_OUTPUT]: { typed: true } });
  expect(getStructuredOutput(structuredClone(event))).toBeUndefined();
  expect(JSON.stringify(event)).not.toContain('typed');
});
