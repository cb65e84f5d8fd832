import { expect, test } from 'vitest';
import { toWireSchema } from './to-wire-schema.ts';

test('const becomes an enum of one value, at any depth', () => {
  const schema = {
    type: 'object',
    properties: { kind: { type: 'string', const: 'a' }, const: { type: 'string' } },
    anyOf: [{ properties: { n: { const: 1 } } }],
    $defs: { k: { const: null } },
  };
  expect(toWireSchema(schema)).toEqual({
    type: 'object',
    properties: { kind: { type: 'string', enum: ['a'] }, const: { type: 'string' } },
    anyOf: [{ properties: { n: { enum: [1] } } }],
    $defs: { k: { enum: [null] } },
  });
});

test('data is not treated as a schema', () => {
  const schema = { type: 'object', default: { const: 1 }, enum: [{ const: 1 }], properties: { default: { const: 1 } } };
  expect(toWireSchema(schema)).toEqual({ ...schema, properties: { default: { enum: [1] } } });
});

test('a schema that needs no change is returned as is, and others are converted once', () => {
  const plain = { type: 'object', properties: { a: { type: 'string' } } };
  expect(toWireSchema(plain)).toBe(plain);
  const schema = Object.freeze({ const: 1 });
  expect(toWireSchema(schema)).toBe(toWireSchema(schema));
});
