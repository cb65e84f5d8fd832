import { expect, test } from 'vitest';
import { toToolResponse } from './tool-response.ts';

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
  [
    { a: new Map([['b', 1]]), error: new Error('no') },
    { a: {}, error: {} },
  ],
  [new URL('https://example.com/'), { result: 'https://example.com/' }],
  [new Map([['b', 1]]), {}],
  [{ none: { toJSON: () => undefined }, tags: { toJSON: () => new Set([1]) } }, { tags: {} }],
  [[new Map(), () => 1], { results: [{}, null] }],
  [{ n: Number.NaN, call: () => 1 }, { n: null }],
])('a tool that returns %o gives the model the response %j', (result, response) => {
  expect(toToolResponse('f', result).response).toEqual(response);
});

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

test.each([
  [
    cycle,
    'the result at self.self.self.self.self.self.self.self.self.self.self.self.… is nested deeper than 200 levels (is it a cycle?)',
  ],
  [() => 1, 'the result is a function'],
  [{ a: [10n] }, 'the result at a.0 is a bigint'],
])('toToolResponse returns an error with the path for a value that JSON cannot represent: %o', (result, fault) => {
  expect(toToolResponse('f', result).response).toEqual({
    error: `tool f returned a value that is not JSON: ${fault}`,
  });
});

test('toToolResponse returns an error with the message of a getter that throws', () => {
  const result = {
    get price(): number {
      throw new RangeError('too dear');
    },
  };
  expect(toToolResponse('f', result).response).toEqual({
    error: 'tool f returned a value that is not JSON: the result has a getter or a toJSON that threw: too dear',
  });
});

test('the response does not change when the tool later changes the object that it returned', () => {
  const result = { list: [1] };
  const { response } = toToolResponse('f', result);
  result.list.push(2);
  expect(response).toEqual({ list: [1] });
});
