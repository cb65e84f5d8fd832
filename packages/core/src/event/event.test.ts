import { expect, test } from 'vitest';
import { InvalidEventError } from '../errors.ts';
import { createErrorEvent, createEvent } from './create-event.ts';
import { objectTypeOf, stringifyContent } from './event.ts';

test('objectTypeOf returns the object of an event that has one', () => {
  expect(objectTypeOf(createEvent({ object: 'preprocessing.planning', errorCode: 'x' }))).toBe(
    'preprocessing.planning',
  );
});

test('objectTypeOf derives the kind from the content if the event has no object', () => {
  const text = { role: 'model', parts: [{ text: 'a' }] };
  const response = { role: 'user', parts: [{ functionResponse: { name: 'f' } }] };
  expect(objectTypeOf(createErrorEvent({}, 'SAFETY', 'no'))).toBe('error');
  expect(objectTypeOf(createEvent({ errorCode: 'SAFETY', content: text }))).toBe('error');
  expect(objectTypeOf(createEvent({ error: { type: 'a', message: 'b' } }))).toBe('error');
  expect(objectTypeOf(createEvent({ content: response, partial: true }))).toBe('tool.response');
  expect(objectTypeOf(createEvent({ content: text, partial: true }))).toBe('chat.completion.chunk');
  expect(objectTypeOf(createEvent({ content: text }))).toBe('chat.completion');
});

test('stringifyContent joins the text of an event and leaves thoughts out', () => {
  const parts = [{ text: 'Hm.', thought: true }, { text: 'It is ' }, { functionCall: { name: 'f' } }, { text: '4.' }];
  expect(stringifyContent(createEvent({ content: { role: 'model', parts } }))).toBe('It is 4.');
});

test('stringifyContent is empty for an event without text', () => {
  expect(stringifyContent(createEvent())).toBe('');
  expect(stringifyContent(createEvent({ content: { parts: [{ functionCall: { name: 'f' } }] } }))).toBe('');
});

test.each(['x', 5, undefined])('stringifyContent refuses %j, which is not an event', (value) => {
  expect(() => stringifyContent(value as never)).toThrow(InvalidEventError);
  expect(() => stringifyContent(value as never)).toThrow('stringifyContent: expected an event, got');
});

test('stringifyContent refuses a content in place of an event', () => {
  const content = { role: 'model', parts: [{ text: 'a' }] };
  expect(() => stringifyContent(content as never)).toThrow(
    'expected an event, got a content; write contentText(content)',
  );
  expect(stringifyContent(createEvent({}))).toBe('');
});
