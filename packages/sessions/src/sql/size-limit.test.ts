import { SizeLimitError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { withinLimit } from './size-limit.ts';

test('a text of exactly the maximum number of bytes is accepted, and one more byte is refused', () => {
  for (const text of ['x'.repeat(12), 'é'.repeat(6), '語'.repeat(4), '😀'.repeat(3), '']) {
    expect(withinLimit(text, 12, 'event', 'e')).toBe(text);
    expect(() => withinLimit(`${text}${'x'.repeat(13)}`, 12, 'event', 'e')).toThrow(SizeLimitError);
  }
  for (const text of ['é'.repeat(6), '語'.repeat(4), '😀'.repeat(3)]) {
    expect(() => withinLimit(`${text}x`, 12, 'event', 'e')).toThrow(SizeLimitError);
  }
});

test('the error names the value and the limit', () => {
  expect(() => withinLimit('x'.repeat(13), 12, 'state key', 'user:name')).toThrow(/state key "user:name".*12/);
});
