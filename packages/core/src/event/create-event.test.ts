import { describe, expect, test } from 'vitest';
import { createErrorEvent, createEvent, createResponseEvent } from './create-event.ts';

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
