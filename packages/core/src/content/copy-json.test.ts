import { describe, expect, test } from 'vitest';
import { copyJson } from './copy-json.ts';

function nested(levels: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < levels; level++) value = { below: value };
  return value;
}

class Money {
  readonly amount = 5;
}

class Selfish {
  readonly name = 'me';
  toJSON(): this {
    return this;
  }
}

describe('copyJson', () => {
  test.each([null, true, false, 0, -1.5, '', 'text', [], {}, [1, ['a', null]], { a: { b: [{ c: null }] } }])(
    'copies %j',
    (value) => {
      expect(copyJson(value)).toEqual({ value });
    },
  );

  test('shares no object with the original', () => {
    const given = { list: [{ deep: 1 }] };
    const copied = copyJson(given);
    given.list[0] = { deep: 2 };
    expect(copied).toEqual({ value: { list: [{ deep: 1 }] } });
  });

  test('leaves out undefined properties', () => {
    expect(copyJson({ a: undefined, b: 1 })).toEqual({ value: { b: 1 } });
  });

  test('copies -0 as 0, as JSON does', () => {
    expect(copyJson([-0, { a: -0 }])).toEqual({ value: [0, { a: 0 }] });
  });

  test.each([
    ['undefined', undefined, 'is undefined'],
    ['a function', () => 1, 'is a function'],
    ['a symbol', Symbol('s'), 'is a symbol'],
    ['a bigint', 5n, 'is a bigint'],
    ['NaN', Number.NaN, 'is NaN, which JSON cannot represent'],
    ['infinity', Number.NEGATIVE_INFINITY, 'is -Infinity, which JSON cannot represent'],
    ['a date', new Date(0), 'is a Date, not a plain object'],
    ['a map', new Map(), 'is a Map, not a plain object'],
    ['bytes', new Uint8Array(2), 'is a Uint8Array, not a plain object'],
    ['an instance of a class', new Money(), 'is a Money, not a plain object'],
  ])('refuses %s', (_name, value, reason) => {
    expect(copyJson(value)).toEqual({ fault: { path: '', reason } });
    expect(copyJson({ list: ['fine', value] })).toEqual({ fault: { path: 'list.1', reason } });
  });

  test('accepts an object without a prototype', () => {
    expect(copyJson(Object.assign(Object.create(null), { a: 1 }))).toEqual({ value: { a: 1 } });
  });

  test('copies 200 levels, and returns an error for more levels and for cycles', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(copyJson(nested(200))).toEqual({ value: nested(200) });
    for (const value of [nested(201), cycle]) {
      expect(copyJson(value)).toMatchObject({
        fault: {
          path: expect.stringMatching(/^(\w+\.){12}…$/),
          reason: 'is nested deeper than 200 levels (is it a cycle?)',
        },
      });
    }
  });

  test('returns the path of a fault with the beginnings of long keys', () => {
    expect(copyJson({ ['k'.repeat(5000)]: [undefined] })).toMatchObject({ fault: { path: `${'k'.repeat(64)}….0` } });
  });

  test('treats __proto__ as an ordinary key', () => {
    const copied = copyJson(JSON.parse('{"__proto__":{"admin":true}}'));
    expect(JSON.stringify(copied)).toBe('{"value":{"__proto__":{"admin":true}}}');
    expect((copied as { value: { admin?: unknown } }).value.admin).toBeUndefined();
  });

  test('with toJson copies the result of toJSON, once', () => {
    expect(copyJson({ at: new Date(0) }, { toJson: true })).toEqual({ value: { at: '1970-01-01T00:00:00.000Z' } });
    expect(copyJson({ at: new Date(Number.NaN) }, { toJson: true })).toEqual({ value: { at: null } });
    expect(copyJson(new Selfish(), { toJson: true })).toEqual({ value: { name: 'me' } });
    expect(copyJson(new Money(), { toJson: true })).toMatchObject({ fault: { path: '' } });
  });
});
