import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { toJsonSchema, toValidatingSchema } from './json-schema.ts';

const OWNER = 'tool "f"';

test('toJsonSchema returns an equal copy of JSON Schema', () => {
  const schema = {
    $defs: { name: { type: 'string', minLength: 1 } },
    type: 'object',
    description: 'A person',
    properties: {
      name: { $ref: '#/$defs/name' },
      type: { type: ['string', 'null'], enum: ['A', 'B', null], default: 'A' },
      tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: { TYPE: 'X' } }] }, maxItems: 3 },
      pair: { prefixItems: [{ type: 'number' }, true], items: false },
    },
    required: ['name'],
    additionalProperties: { type: 'integer' },
    if: { required: ['tags'] },
    else: { not: { required: ['pair'] } },
    examples: [{ type: 'STRING' }],
  };
  expect(toJsonSchema(schema, OWNER)).toEqual(schema);
});

test('toJsonSchema turns types into lower case in all nested schemas', () => {
  expect(
    toJsonSchema(
      {
        type: 'OBJECT',
        properties: {
          city: { type: 'STRING', format: 'enum', enum: ['PARIS'] },
          days: { type: 'ARRAY', items: { type: 'INTEGER' } },
          any: { anyOf: [{ type: 'NUMBER' }, { type: 'BOOLEAN' }] },
        },
        propertyOrdering: ['city', 'days', 'any'],
      },
      OWNER,
    ),
  ).toEqual({
    type: 'object',
    properties: {
      city: { type: 'string', format: 'enum', enum: ['PARIS'] },
      days: { type: 'array', items: { type: 'integer' } },
      any: { anyOf: [{ type: 'number' }, { type: 'boolean' }] },
    },
    propertyOrdering: ['city', 'days', 'any'],
  });
});

test('a property may have the name of a keyword', () => {
  const properties = { type: { type: 'STRING' }, nullable: { type: 'BOOLEAN' }, items: { type: 'ARRAY' } };
  expect(toJsonSchema({ type: 'OBJECT', properties }, OWNER)['properties']).toEqual({
    type: { type: 'string' },
    nullable: { type: 'boolean' },
    items: { type: 'array' },
  });
});

test('toJsonSchema turns counts given as strings into numbers', () => {
  expect(toJsonSchema({ type: 'STRING', minLength: '2', maxLength: '10', minimum: 1 }, OWNER)).toEqual({
    type: 'string',
    minLength: 2,
    maxLength: 10,
    minimum: 1,
  });
});

test.each([
  [{ type: 'STRING', nullable: true }, { type: ['string', 'null'] }],
  [{ type: 'STRING', nullable: false }, { type: 'string' }],
  [{ type: 'NULL', nullable: true }, { type: 'null' }],
  [
    { type: 'STRING', enum: ['a'], nullable: true },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  [{ anyOf: [{ type: 'STRING' }], nullable: true }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  [{ type: 'TYPE_UNSPECIFIED', description: 'anything' }, { description: 'anything' }],
  [{ type: ['STRING', 'NULL'] }, { type: ['string', 'null'] }],
])('%j is %j', (schema, expected) => {
  expect(toJsonSchema(schema, OWNER)).toEqual(expected);
});

test('toJsonSchema does not change its argument', () => {
  const schema = Object.freeze({
    type: 'OBJECT',
    nullable: true,
    properties: Object.freeze({ a: Object.freeze({ type: 'STRING', enum: Object.freeze(['x']), nullable: true }) }),
  });
  toJsonSchema(schema, OWNER);
  expect(schema.properties.a.enum).toEqual(['x']);
});

test('toValidatingSchema drops object annotations and keeps object data', () => {
  expect(
    toValidatingSchema(
      {
        type: 'object',
        description: 'kept',
        example: { id: '1' },
        'x-vendor': { $ref: '#/nowhere' },
        properties: { example: { const: { id: '1' }, example: { id: '2' } } },
        default: { id: '3' },
      },
      OWNER,
    ),
  ).toEqual({
    type: 'object',
    description: 'kept',
    properties: { example: { const: { id: '1' } } },
    default: { id: '3' },
  });
});

test('toJsonSchema refuses a schema that contains itself, and keeps a reference to the schema', () => {
  const person: Record<string, unknown> = { type: 'object' };
  person['properties'] = { name: { type: 'string' }, friends: { type: 'array', items: { anyOf: [person] } } };
  const message =
    'tool "f": the schema contains itself, or is nested deeper than 100 schemas; write the part that repeats into $defs, and { $ref: \'#/$defs/<name>\' } where it repeats';
  expect(() => toJsonSchema(person, OWNER)).toThrow(new ConfigurationError(message));
  const reference = { type: 'object', properties: { friend: { $ref: '#' } } };
  expect(toJsonSchema(reference, OWNER)).toEqual(reference);
});
