import { describe, expect, test } from 'vitest';
import { createErrorEvent, createEvent } from './create-event.ts';
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

test('structured output goes with neither JSON nor structuredClone', () => {
  const event = createEvent({ [STRUCTURED_OUTPUT]: { typed: true } });
  expect(getStructuredOutput(structuredClone(event))).toBeUndefined();
  expect(JSON.stringify(event)).not.toContain('typed');
});
