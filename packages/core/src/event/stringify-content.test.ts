import { expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import { stringifyContent } from './stringify-content.ts';

test('joins the text of an event and leaves thoughts out', () => {
  const parts = [{ text: 'Hm.', thought: true }, { text: 'It is ' }, { functionCall: { name: 'f' } }, { text: '4.' }];
  expect(stringifyContent(createEvent({ content: { role: 'model', parts } }))).toBe('It is 4.');
});

test('is empty for an event without text', () => {
  expect(stringifyContent(createEvent())).toBe('');
  expect(stringifyContent(createEvent({ content: { parts: [{ functionCall: { name: 'f' } }] } }))).toBe('');
});
