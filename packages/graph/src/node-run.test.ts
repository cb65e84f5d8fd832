import { expect, test } from 'vitest';
import { inputDigest } from './node-run.ts';

test('inputDigest does not depend on the order of keys', () => {
  const one = inputDigest({ a: 1, b: [{ c: 2, d: 3 }] });
  expect(inputDigest({ b: [{ d: 3, c: 2 }], a: 1 })).toBe(one);
});

test.each([
  ['the order of a list', [1, 2], [2, 1]],
  ['which key has a value', { a: 1, b: 2 }, { a: 2, b: 1 }],
  ['how deep a value is', { a: { b: 1 } }, { a: 1, b: 1 }],
  ['a number and its text', 1, '1'],
])('%s distinguishes inputs', (_, one, other) => {
  expect(inputDigest(one)).not.toBe(inputDigest(other));
});
