import { expect, test } from 'vitest';
import { toToolAnswer } from './tool-answer.ts';

test.each([
  [{ city: 'Paris' }, { city: 'Paris' }],
  ['text', { result: 'text' }],
  [5, { result: 5 }],
  [false, { result: false }],
  [null, { result: null }],
  [undefined, { result: null }],
  [[1, 2], { results: [1, 2] }],
  [new Date(0), { result: '1970-01-01T00:00:00.000Z' }],
  [{ when: new Date(0), left: undefined }, { when: '1970-01-01T00:00:00.000Z' }],
])('a tool that returns %o gives the model the response %j', (result, response) => {
  expect(toToolAnswer('f', result).response).toEqual(response);
});

test.each([
  [{ a: { b: new Map() } }, 'the result at a.b is a Map, not a plain object'],
  [() => 1, 'the result is a function'],
  [10n, 'the result is a bigint'],
  [{ n: Number.NaN }, 'the result at n is NaN, which JSON cannot represent'],
])('toToolAnswer returns an error with the path for a value that is not JSON: %o', (result, fault) => {
  expect(toToolAnswer('f', result).response).toEqual({
    error: `tool f returned a value that is not JSON: ${fault}`,
  });
});

test('the response does not change when the tool later changes the object that it returned', () => {
  const result = { list: [1] };
  const { response } = toToolAnswer('f', result);
  result.list.push(2);
  expect(response).toEqual({ list: [1] });
});
