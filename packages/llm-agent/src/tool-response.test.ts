import { toolResult } from '@eventloom/core';
import { expect, test } from 'vitest';
import { toToolResponse } from './tool-response.ts';

class Forecast {
  readonly city = 'Paris';
  readonly refresh = (): number => 1;
}

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
  [new URL('https://example.com/'), { result: 'https://example.com/' }],
  [
    { n: 1, call: () => 1, sign: Symbol('s'), list: [{ call: () => 1 }] },
    { n: 1, list: [{}] },
  ],
  [new Forecast(), { city: 'Paris' }],
  [[undefined], { results: [null] }],
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
  [{ n: Number.NaN }, 'the result at n is NaN, which JSON cannot represent'],
  [
    new Response('{}'),
    // A server of Node replaces the class, also in the tests of other packages.
    `the result is an object of the class ${Response.name}, whose content JSON would lose (write await response.json())`,
  ],
  [
    { status: 'error', error: new RangeError('no') },
    'the result at error is an object of the class RangeError, whose content JSON would lose (write error.message, or throw the error)',
  ],
  [
    { rows: new Map([['b', 1]]) },
    'the result at rows is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map))',
  ],
  [[new Set([1])], 'the result at 0 is an object of the class Set, whose content JSON would lose (write [...set])'],
  [{ page: Promise.resolve(1) }, 'the result at page is a promise, whose content JSON would lose (write await)'],
  [
    toolResult({ response: { page: new Uint8Array(2) } }),
    'the result at page is an object of the class Uint8Array, whose content JSON would lose (write encodeBase64(bytes))',
  ],
])('toToolResponse returns an error with the path for a value that JSON would lose: %o', (result, reason) => {
  const error = `tool f returned a value that is not JSON: ${reason}`;
  expect(toToolResponse('f', result)).toEqual({
    response: { error },
    fault: expect.objectContaining({ code: 'INVALID_EVENT', message: error }),
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
