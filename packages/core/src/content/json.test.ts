import { describe, expect, test } from 'vitest';
import { describeKind, getOwn, setOwn } from './json.ts';

describe('setOwn and getOwn', () => {
  test('treat inherited names and __proto__ as data', () => {
    const record: Record<string, unknown> = {};
    expect(getOwn(record, 'toString')).toBeUndefined();
    expect(getOwn(record, '__proto__')).toBeUndefined();
    setOwn(record, '__proto__', 1);
    setOwn(record, 'toString', 2);
    expect(getOwn(record, '__proto__')).toBe(1);
    expect(getOwn(record, 'toString')).toBe(2);
    expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
    expect(Object.keys(record)).toEqual(['__proto__', 'toString']);
    setOwn(record, '__proto__', 3);
    expect(getOwn(record, '__proto__')).toBe(3);
    delete record['__proto__'];
    expect(Object.keys(record)).toEqual(['toString']);
  });
});

test.each([
  [undefined, 'nothing'],
  [null, 'null'],
  [true, 'true'],
  [1.5, 'the number 1.5'],
  ['x', 'a string'],
  [[], 'a list'],
  [{}, 'an object'],
  [Promise.resolve([]), 'a promise'],
])('%j is described as %s', (value, kind) => {
  expect(describeKind(value)).toBe(kind);
});

test('describeKind names the class of an object, and reads no name that the object itself brings', () => {
  expect(describeKind(new AbortController())).toBe('an object of the class AbortController');
  expect(describeKind(JSON.parse('{"constructor": {"name": "secret"}}'))).toBe('an object');
  expect(describeKind(Object.create(null))).toBe('an object');
});
