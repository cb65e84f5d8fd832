import { expect, test } from 'vitest';
import type { Part } from '../content/content.ts';
import { createEvent } from './create-event.ts';

const answer: Part[] = [{ functionResponse: { id: 'c1', name: 'f', response: {} } }];

test('an event with an error code is an error, and its error names the code and the message', () => {
  expect(createEvent({ errorCode: 'SAFETY', errorMessage: 'blocked' })).toMatchObject({
    object: 'error',
    error: { type: 'SAFETY', message: 'blocked' },
  });
  expect(createEvent({ errorCode: 'SAFETY' }).error).toEqual({ type: 'SAFETY', message: '' });
});

test('an event with function responses is a tool response, whole and partial', () => {
  for (const partial of [true, undefined])
    expect(createEvent({ content: { role: 'user', parts: answer }, ...(partial && { partial }) }).object).toBe(
      'tool.response',
    );
});

test("a response inside a model's reply, and an event with other content, get no kind", () => {
  expect(createEvent({ content: { role: 'model', parts: answer } }).object).toBeUndefined();
  expect(createEvent({ content: { role: 'model', parts: [{ text: 'hi' }] } }).object).toBeUndefined();
  expect(createEvent().object).toBeUndefined();
});

test('an event keeps the kind and the error that it already has', () => {
  const given = { object: 'mine', error: { type: 'T', message: 'm' } };
  expect(createEvent({ ...given, errorCode: 'E' })).toMatchObject(given);
});
