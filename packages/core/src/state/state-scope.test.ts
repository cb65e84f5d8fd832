import { describe, expect, test } from 'vitest';
import { StateKeyError } from '../errors.ts';
import { applyStateDelta, checkStateKey, prefixedKey, stateScopeOf, toStateWrites } from './state-scope.ts';

test.each([
  ['theme', 'session'],
  ['app:theme', 'app'],
  ['user:theme', 'user'],
  ['temp:theme', 'temp'],
  ['App:theme', 'session'],
  ['application', 'session'],
  ['my:user:theme', 'session'],
])('the key %s belongs to the scope %s', (key, scope) => {
  expect(stateScopeOf(key)).toBe(scope);
});

describe('checkStateKey', () => {
  test.each(['a', 'user:a', ' ', '__proto__', 'a.b', 'ключ', 'x'.repeat(256), `app:${'x'.repeat(252)}`])(
    'takes %s',
    (key) => {
      expect(() => checkStateKey(key)).not.toThrow();
    },
  );

  test.each(['', 'app:', 'user:', 'temp:', 'a\0b', 'x'.repeat(257), `app:${'x'.repeat(253)}`, '日'.repeat(86)])(
    'refuses %j',
    (key) => {
      expect(() => checkStateKey(key)).toThrow(StateKeyError);
    },
  );

  test('counts bytes and not characters', () => {
    expect(() => checkStateKey('日'.repeat(85))).not.toThrow();
    expect(() => checkStateKey('é'.repeat(128))).not.toThrow();
    expect(() => checkStateKey('é'.repeat(129))).toThrow(/longer than 256 bytes/);
  });
});

describe('toStateWrites', () => {
  test('splits a delta into its scopes, without prefixes, removals last, temp: left out', () => {
    const delta = { 'app:a': 1, 'user:b': null, c: [2], 'temp:d': 3, ':e': 4 };
    expect(toStateWrites(delta, ['user:f', 'temp:g', 'h'])).toEqual([
      { scope: 'app', key: 'a', value: 1 },
      { scope: 'user', key: 'b', value: null },
      { scope: 'session', key: 'c', value: [2] },
      { scope: 'session', key: ':e', value: 4 },
      { scope: 'user', key: 'f', value: undefined },
      { scope: 'session', key: 'h', value: undefined },
    ]);
  });

  test('returns an empty list for an empty delta', () => {
    expect(toStateWrites({})).toEqual([]);
  });

  test('treats __proto__ as an ordinary key', () => {
    const delta = JSON.parse('{"__proto__":1,"user:__proto__":2}') as Record<string, unknown>;
    expect(toStateWrites(delta)).toEqual([
      { scope: 'session', key: '__proto__', value: 1 },
      { scope: 'user', key: '__proto__', value: 2 },
    ]);
  });
});

test.each(['app', 'user', 'session', 'temp'] as const)('the key of a write in scope %s reads back', (scope) => {
  expect(stateScopeOf(prefixedKey(scope, 'key'))).toBe(scope);
  if (scope === 'temp') return;
  expect(toStateWrites({ [prefixedKey(scope, 'key')]: 1 })).toEqual([{ scope, key: 'key', value: 1 }]);
});

describe('applyStateDelta', () => {
  test('sets, then removes', () => {
    const state: Record<string, unknown> = { a: 1, b: 1, c: 1 };
    applyStateDelta(state, { a: 2, b: null, d: 4 }, ['c', 'd', 'absent']);
    expect(state).toEqual({ a: 2, b: null });
  });

  test('sets and removes __proto__ as an ordinary key', () => {
    const state: Record<string, unknown> = {};
    applyStateDelta(state, JSON.parse('{"__proto__":{"admin":true}}') as Record<string, unknown>);
    expect(Object.keys(state)).toEqual(['__proto__']);
    expect(state['admin']).toBeUndefined();
    applyStateDelta(state, {}, ['__proto__']);
    expect(Object.keys(state)).toEqual([]);
    expect(Object.getPrototypeOf(state)).toBe(Object.prototype);
  });
});
