import { describe, expect, test } from 'vitest';
import { InvalidEventError } from '../errors.ts';
import { createErrorEvent, createEvent, type EventParams } from './create-event.ts';
import { getStructuredOutput, STRUCTURED_OUTPUT } from './event.ts';

describe('createEvent', () => {
  test.each([
    [{ text: 'hi' }, 'text', "write content: { role: 'model', parts: [{ text: … }] }"],
    [{ action: {} }, 'action', 'write actions: { … }'],
    [{ stateDelta: {} }, 'stateDelta', 'write actions: { stateDelta: … }'],
    [{ escalate: true }, 'escalate', 'write actions: { escalate: true }'],
  ])('refuses %j, which would be ignored', (fields, field, advice) => {
    expect(() => createEvent(fields as EventParams)).toThrow(InvalidEventError);
    expect(() => createEvent(fields as EventParams)).toThrow(
      `createEvent: an event has no field "${field}"; ${advice}`,
    );
  });

  test.each([
    [{ autor: 'a' }, 'autor', 'author'],
    [{ invocation_id: 'e-1' }, 'invocation_id', 'invocationId'],
    [{ contents: { parts: [] } }, 'contents', 'content'],
  ])('refuses the misspelt field of %j', (fields, field, meant) => {
    expect(() => createEvent(fields as EventParams)).toThrow(
      `createEvent: an event has no field "${field}"; write ${meant}`,
    );
  });

  test.each(['usage', 'source', 'filterKey', 'id2d', 'errorType', 'interactionId'])(
    'keeps the field %s of another program',
    (field) => {
      expect(createEvent({ [field]: 1 })).toMatchObject({ [field]: 1 });
    },
  );

  test('refuses text as content', () => {
    expect(() => createEvent({ content: 'hi' as never })).toThrow(
      'createEvent: content: expected an object, got a string; write content: { role: \'model\', parts: [{ text: "hi" }] }',
    );
  });

  test('gives an event an id and the current time in seconds, and leaves its author for the runner', () => {
    const before = Date.now() / 1000;
    const event = createEvent();
    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      invocationId: '',
      author: '',
      timestamp: expect.any(Number) as number,
      actions: { stateDelta: {}, artifactDelta: {} },
    });
    expect(event.timestamp).toBeGreaterThanOrEqual(before);
    expect(event.timestamp).toBeLessThanOrEqual(Date.now() / 1000);
    expect(createEvent().id).not.toBe(event.id);
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
