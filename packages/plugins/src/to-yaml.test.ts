import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { toYaml } from './to-yaml.ts';

test.each([
  [{ a: 1, b: 'x', c: true, d: null, e: 1.5 }],
  [{ list: [1, 'two', [3, [4]], { five: 5, six: [] }], empty: {}, none: [] }],
  [{ text: 'two\nlines: "quoted" \\ # no comment', unicode: 'é 😀 \u2028 \u0000' }],
  [{ 'key: with colon': 1, true: 2, '': 3, '- dash': 4, '123': 5, nested: { 'a b': { c: [] } } }],
  [{ looks: ['true', 'null', '1', '~', '- a', 'a: b', '2026-01-01', ' padded '] }],
  [[{ a: [{ b: 1 }, { c: 2 }] }, []]],
])('%j is unchanged after a YAML parser reads it', (value) => {
  expect(parse(toYaml(value))).toEqual(value);
});

test('keys without a value are omitted', () => {
  expect(toYaml({ a: undefined, b: { c: undefined } })).toBe('b: {}\n');
});

test('toYaml writes lists and objects in block style, one member a line', () => {
  expect(toYaml({ a: [{ b: 1, c: ['x'] }] })).toBe('a:\n  -\n    b: 1\n    c:\n      - "x"\n');
});
