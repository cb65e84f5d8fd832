import { describe, expect, test } from 'vitest';
import { copyJson, sealJson } from './copy-json.ts';

function nested(levels: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < levels; level++) value = { below: value };
  return value;
}

class Money {
  readonly amount = 5;
  get cents(): number {
    return this.amount * 100;
  }
}

class Price extends Money {
  readonly since = new Date(0);
  readonly parts = [new Money()];
}

class Secret {
  readonly #word = 'hidden';
  say(): string {
    return this.#word;
  }
}

class Selfish {
  readonly name = 'me';
  toJSON(): this {
    return this;
  }
}

class Celsius {
  readonly #degrees = 20;
  toJSON(): object {
    return { degrees: this.#degrees, measured: new Date(0) };
  }
}

/** An instance of a class as it was written before there was `class`: its method is enumerable. */
function oldInstance(): object {
  function Old(this: { size: number }): void {
    this.size = 3;
  }
  Old.prototype = { double: () => 6 };
  return Reflect.construct(Old, []);
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

  test('refuses undefined itself', () => {
    expect(copyJson(undefined)).toEqual({ fault: { path: '', reason: 'is undefined' } });
  });

  test('turns undefined in a list into null', () => {
    for (const list of [['a', undefined, 'b'], Object.assign(['a'], { 2: 'b' })])
      expect(copyJson([list])).toEqual({ value: [['a', null, 'b']] });
  });

  test('copies -0 as 0, as JSON does', () => {
    expect(copyJson([-0, { a: -0 }])).toEqual({ value: [0, { a: 0 }] });
  });

  test.each([
    ['a function', () => 1, 'is a function'],
    ['a symbol', Symbol('s'), 'is a symbol'],
    ['a bigint', 5n, 'is a bigint'],
    ['NaN', Number.NaN, 'is NaN, which JSON cannot represent'],
    ['infinity', Number.NEGATIVE_INFINITY, 'is -Infinity, which JSON cannot represent'],
    [
      'a map',
      new Map([['a', 1]]),
      'is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map))',
    ],
    [
      'an error',
      new TypeError('no'),
      'is an object of the class TypeError, whose content JSON would lose (write error.message, or throw the error)',
    ],
    ['a promise', Promise.resolve(1), 'is a promise, whose content JSON would lose (write await)'],
    ['a set', new Set([1]), 'is an object of the class Set, whose content JSON would lose (write [...set])'],
    ['a boxed string', Object('a'), 'is an object of the class String, whose content JSON would lose'],
    [
      'a toJSON that returns a map',
      { toJSON: () => new Map() },
      'is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map))',
    ],
    ['a toJSON that returns nothing', { toJSON: () => undefined }, 'is undefined'],
    [
      'bytes',
      new Uint8Array(2),
      'is an object of the class Uint8Array, whose content JSON would lose (write encodeBase64(bytes))',
    ],
    [
      'an instance with private fields only',
      new Secret(),
      'is an object of the class Secret, whose content JSON would lose',
    ],
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
    expect(copyJson({ ['k'.repeat(5000)]: [Number.NaN] })).toMatchObject({ fault: { path: `${'k'.repeat(64)}….0` } });
  });

  test('treats __proto__ as an ordinary key', () => {
    const copied = copyJson(JSON.parse('{"__proto__":{"admin":true}}'));
    expect(JSON.stringify(copied)).toBe('{"value":{"__proto__":{"admin":true}}}');
    expect((copied as { value: { admin?: unknown } }).value.admin).toBeUndefined();
  });

  const convertible: [string, unknown][] = [
    ['a date', { at: new Date(0) }],
    ['an invalid date', [new Date(Number.NaN)]],
    ['a URL', new URL('https://example.com/a')],
    ['instances of classes', { price: new Price(), list: [new Money()] }],
    ['an instance with an enumerable method of its prototype', oldInstance()],
    ['an instance of a class with toJSON', [new Celsius()]],
    ['an instance whose toJSON returns itself', new Selfish()],
    ['a plain object with toJSON', { value: { secret: 1, toJSON: () => ({ shown: new Date(0) }) } }],
    ['a plain object whose toJSON returns itself', selfishObject()],
    ['a toJSON that gives a text or a list', [{ toJSON: () => 'text' }, { toJSON: () => [1, new Money()] }]],
  ];
  test.each(convertible)('copies %s as JSON.stringify does', (_, value) => {
    expect(copyJson(value)).toEqual({ value: JSON.parse(JSON.stringify(value)) });
  });

  test('copies a tree of objects with toJSON once', () => {
    let calls = 0;
    const leaf: object = {};
    let tree = leaf;
    for (let level = 0; level < 50; level++) {
      const children = [tree];
      tree = {
        children,
        toJSON: () => {
          calls++;
          return { children };
        },
      };
    }
    expect(copyJson(tree)).toEqual({ value: JSON.parse(JSON.stringify(tree)) });
    expect(calls).toBe(100);
  });

  test('refuses a cycle of objects whose toJSON returns themselves', () => {
    const object: Record<string, unknown> = { self: null, toJSON: () => object };
    object['self'] = object;
    expect(copyJson(object)).toMatchObject({ fault: { reason: expect.stringContaining('is it a cycle?') } });
  });

  test('shares nothing with an instance or with what its toJSON returns', () => {
    const inner = { list: [1] };
    const given = { of: new Holder(inner), json: { toJSON: () => inner } };
    const copied = copyJson(given);
    const sealed = sealJson(given);
    inner.list.push(2);
    const value = { of: { inner: { list: [1] } }, json: { list: [1] } };
    expect([copied, sealed]).toEqual([{ value }, { value }]);
    expect('value' in sealed && Object.isFrozen(Object(sealed.value).json.list)).toBe(true);
  });
});

class Holder {
  readonly inner: unknown;

  constructor(inner: unknown) {
    this.inner = inner;
  }
}

function selfishObject(): object {
  const object = { name: 'me', toJSON: () => object };
  return object;
}
