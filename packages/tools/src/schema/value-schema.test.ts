import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { JsonSchema, StandardSchemaWithJson } from './standard-schema.ts';
import { ValueSchema } from './value-schema.ts';

const OWNER = 'tool "f"';

function standard(parts: Partial<StandardSchemaWithJson['~standard']>): StandardSchemaWithJson {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => ({}) },
      ...parts,
    },
  };
}

test('a value schema converts a zod schema to JSON Schema of its input, without $schema', async () => {
  const schema = new ValueSchema(z.object({ n: z.number(), s: z.string().default('x') }), OWNER);
  expect(schema.json).toEqual({
    type: 'object',
    properties: { n: { type: 'number' }, s: { type: 'string', default: 'x' } },
    required: ['n'],
  });
});

test('a value schema returns the output of a zod schema: defaults, coercion, transforms', async () => {
  const schema = new ValueSchema(z.object({ n: z.coerce.number(), s: z.string().default('x') }), OWNER);
  expect(await schema.check({ n: '4' })).toEqual({ value: { n: 4, s: 'x' } });
});

test('issues of a zod schema name their path', async () => {
  const schema = new ValueSchema(z.object({ list: z.array(z.object({ n: z.number() })) }), OWNER);
  expect(await schema.check({ list: [{ n: 1 }, { n: 'x' }] })).toEqual({
    issues: ['list.1.n: Invalid input: expected number, received string'],
  });
  expect(await schema.check(5)).toEqual({ issues: ['value: Invalid input: expected object, received number'] });
});

test('a value schema waits for a schema that checks asynchronously', async () => {
  const even = z.number().refine(async (number) => number % 2 === 0, 'must be even');
  const schema = new ValueSchema(even, OWNER);
  expect(await schema.check(2)).toEqual({ value: 2 });
  expect(await schema.check(3)).toEqual({ issues: ['value: must be even'] });
});

test('path segments may be objects with a key', async () => {
  const validate = () => ({ issues: [{ message: 'wrong', path: [{ key: 'a' }, 0] }] });
  expect(new ValueSchema(standard({ validate }), OWNER).check({})).toEqual({ issues: ['a.0: wrong'] });
});

test('a value schema checks JSON Schema synchronously and returns the value unchanged', () => {
  const schema = new ValueSchema({ type: 'object', properties: { n: { type: 'integer' } } }, OWNER);
  const value = { n: 1, other: true };
  expect(schema.check(value)).toEqual({ value });
  expect(schema.check({ n: 1.5 })).toEqual({
    issues: ['n: Instance type "number" is invalid. Expected "integer".'],
  });
});

test('a value schema converts the genai dialect to JSON Schema and checks it', async () => {
  const schema = new ValueSchema(
    { type: 'OBJECT', properties: { note: { type: 'STRING', nullable: true, maxLength: '3' } }, required: ['note'] },
    OWNER,
  );
  expect(schema.json).toEqual({
    type: 'object',
    properties: { note: { type: ['string', 'null'], maxLength: 3 } },
    required: ['note'],
  });
  expect(await schema.check({ note: null })).toEqual({ value: { note: null } });
  expect(await schema.check({ note: 'long' })).toEqual({ issues: ['note: String is too long (4 > 3).'] });
});

test('a check does not change the schema for the model', async () => {
  const schema = new ValueSchema({ type: 'object', properties: { n: { type: 'integer' } } }, OWNER);
  expect(await schema.check({ n: 1 })).toEqual({ value: { n: 1 } });
  expect(Object.getOwnPropertyNames(schema.json)).toEqual(['type', 'properties']);
});

test.each([
  [null, 'null'],
  ['string', 'a string'],
  [5, 'the number 5'],
  [undefined, 'nothing'],
  [['object'], 'a list'],
  [() => ({ type: 'object' }), 'a function'],
  [class City {}, 'the class City'],
])('%j (%s) is not a schema', (schema, kind) => {
  expect(() => new ValueSchema(schema as unknown as JsonSchema, OWNER)).toThrow(
    `tool "f": expected a schema, got ${kind}; write z.object({ city: z.string() }), or a JSON Schema`,
  );
});

test.each([
  [
    'test',
    'the test schema has no JSON Schema; use a library with Standard JSON Schema, such as zod or arktype, or give JSON Schema itself',
  ],
  [
    'valibot',
    'the valibot schema has no JSON Schema; write toStandardJsonSchema(schema), from @valibot/to-json-schema 1.5 or newer',
  ],
  ['arktype', 'the arktype schema has no JSON Schema; use arktype 2.1.28 or newer'],
])('the constructor says what to write for a schema of %s without a JSON Schema', (vendor, message) => {
  const { jsonSchema: _, ...old } = standard({ vendor })['~standard'];
  // The type requires a JSON Schema.
  const schema = { '~standard': old } as unknown as JsonSchema;
  expect(() => new ValueSchema(schema, OWNER)).toThrow(new ConfigurationError(`tool "f": ${message}`));
});

test('a value schema checks with the JSON Schema of a Standard JSON Schema that cannot validate', () => {
  const { validate: _, ...rest } = standard({ jsonSchema: { input: () => ({ type: 'string' }) } })['~standard'];
  const schema = new ValueSchema({ '~standard': rest }, OWNER);
  expect(schema.check('x')).toEqual({ value: 'x' });
  expect(schema.check(1)).toEqual({ issues: ['value: Instance type "number" is invalid. Expected "string".'] });
});

test('a schema without a JSON Schema throws a ConfigurationError when it is needed', async () => {
  const schema = new ValueSchema(z.object({ when: z.date() }), OWNER);
  expect(() => schema.json).toThrow(ConfigurationError);
  expect(() => schema.json).toThrow(
    /^tool "f": the schema cannot be converted to JSON Schema: Date.*; change that part, or write the schema as JSON Schema$/,
  );
});
