import { expect, test } from 'vitest';
import { contentText } from './content-text.ts';

test('joins the text of all parts and leaves thoughts out', () => {
  const parts = [{ text: 'Hm.', thought: true }, { text: 'It is ' }, { functionCall: { name: 'f' } }, { text: '4.' }];
  expect(contentText({ role: 'model', parts })).toBe('It is 4.');
});

test('is empty where there is no content, no part or no text', () => {
  expect(contentText(undefined)).toBe('');
  expect(contentText({ role: 'user' })).toBe('');
  expect(contentText({ parts: [{ inlineData: { data: 'AA' } }] })).toBe('');
});
