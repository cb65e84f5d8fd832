import { ConfigurationError } from '@eventloom/core';
import { type Schema, Type } from '@google/genai';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import * as mini from 'zod/mini';
import * as z3 from 'zod/v3';
import * as old from 'zod3';
import type { SchemaLike } from './standard-schema.ts';
import { ValueSchema } from './value-schema.ts';

const OWNER = 'tool "f"';

/** A city and a number of days, in each library. */
const genai: Schema = {
  type: Type.OBJECT,
  properties: { city: { type: Type.STRING }, days: { type: Type.INTEGER, minimum: 1 } },
  required: ['city'],
};
const forecasts: [string, SchemaLike, string][] = [
  ['zod 4', z.object({ city: z.string(), days: z.int().min(1).optional() }), 'expected string, received number'],
  [
    'zod/mini',
    mini.object({ city: mini.string(), days: mini.optional(mini.int().check(mini.minimum(1))) }),
    'expected string, received number',
  ],
  ['zod/v3', z3.object({ city: z3.string(), days: z3.number().int().min(1).optional() }), 'received number'],
  ['zod 3.22', old.object({ city: old.string(), days: old.number().int().min(1).optional() }), 'received number'],
  ['arktype', type({ city: 'string', 'days?': 'number.integer >= 1' }), 'city must be a string'],
  [
    'valibot',
    toStandardJsonSchema(
      v.object({ city: v.string(), days: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))) }),
    ),
    'Expected string but received 5',
  ],
  ['@google/genai', genai, 'Expected "string"'],
];

describe.each(forecasts)('a schema of %s', (_, schema, issue) => {
  const checked = new ValueSchema(schema, OWNER);

  test('is declared as JSON Schema', () => {
    expect(checked.json).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
      required: ['city'],
    });
    expect(checked.json).not.toHaveProperty('$schema');
  });

  test('accepts values that match', async () => {
    expect(await checked.check({ city: 'Paris', days: 2 })).toEqual({ value: { city: 'Paris', days: 2 } });
    expect(await checked.check({ city: 'Paris' })).toEqual({ value: { city: 'Paris' } });
  });

  test("reports the library's issues for other values", async () => {
    const result = await checked.check({ city: 5 });
    expect('issues' in result && result.issues).toEqual([expect.stringContaining(issue)]);
    expect('issues' in result && result.issues[0]).toMatch(/^city: /);
    expect(await checked.check({ city: 'Paris', days: 0.5 })).toHaveProperty('issues');
  });
});

/** Enums as TypeScript compiles them: numbers are mapped to their names as well. */
const Unit = { Celsius: 'c', Fahrenheit: 'f' } as const;
const Size = { Small: 0, Large: 4, 0: 'Small', 4: 'Large' } as const;

/** The same schema in zod 3 and in zod/mini, and its JSON Schema. */
const TABLE: [string, z3.ZodTypeAny, mini.ZodMiniType, Record<string, unknown>][] = [
  ['a boolean', z3.boolean(), mini.boolean(), { type: 'boolean' }],
  ['null', z3.null(), mini.null(), { type: 'null' }],
  ['any value', z3.any(), mini.any(), {}],
  ['never', z3.never(), mini.never(), { not: {} }],
  ['a literal', z3.literal('a'), mini.literal('a'), { type: 'string', enum: ['a'] }],
  ['an enum', z3.enum(['a', 'b']), mini.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  ['an enum of texts', z3.nativeEnum(Unit), mini.enum(Unit), { type: 'string', enum: ['c', 'f'] }],
  ['an enum of numbers', z3.nativeEnum(Size), mini.enum(Size), { type: 'number', enum: [0, 4] }],
  [
    'bounds of a number',
    z3.number().gt(0).lte(5).multipleOf(0.5),
    mini.number().check(mini.gt(0), mini.lte(5), mini.multipleOf(0.5)),
    { type: 'number', exclusiveMinimum: 0, maximum: 5, multipleOf: 0.5 },
  ],
  [
    'bounds of a text',
    z3.string().min(2).max(5).regex(/^a/),
    mini.string().check(mini.minLength(2), mini.maxLength(5), mini.regex(/^a/)),
    { type: 'string', minLength: 2, maxLength: 5, pattern: '^a' },
  ],
  [
    'the length of a text',
    z3.string().length(3),
    mini.string().check(mini.length(3)),
    { type: 'string', minLength: 3, maxLength: 3 },
  ],
  ['an email', z3.string().email(), mini.email(), { type: 'string', format: 'email' }],
  ['a time', z3.string().datetime(), mini.iso.datetime(), { type: 'string', format: 'date-time' }],
  ['a URL', z3.string().url(), mini.string().check(mini.url()), { type: 'string', format: 'uri' }],
  [
    'a list',
    z3.array(z3.string()).min(1).max(3),
    mini.array(mini.string()).check(mini.minLength(1), mini.maxLength(3)),
    { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
  ],
  [
    'a tuple with a rest',
    z3.tuple([z3.string()]).rest(z3.number()),
    mini.tuple([mini.string()], mini.number()),
    { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1, items: { type: 'number' } },
  ],
  [
    'a tuple',
    z3.tuple([z3.string()]),
    mini.tuple([mini.string()]),
    { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1, maxItems: 1 },
  ],
  [
    'a record',
    z3.record(z3.number()),
    mini.record(mini.string(), mini.number()),
    { type: 'object', additionalProperties: { type: 'number' } },
  ],
  [
    'a union',
    z3.union([z3.string(), z3.number()]),
    mini.union([mini.string(), mini.number()]),
    { anyOf: [{ type: 'string' }, { type: 'number' }] },
  ],
  [
    'a union with a discriminator field',
    z3.discriminatedUnion('k', [z3.object({ k: z3.literal('a') }), z3.object({ k: z3.literal('b') })]),
    mini.discriminatedUnion('k', [mini.object({ k: mini.literal('a') }), mini.object({ k: mini.literal('b') })]),
    {
      anyOf: ['a', 'b'].map((k) => ({
        type: 'object',
        properties: { k: { type: 'string', enum: [k] } },
        required: ['k'],
      })),
    },
  ],
  [
    'an intersection',
    z3.intersection(z3.object({ a: z3.string() }), z3.object({ b: z3.string() })),
    mini.intersection(mini.object({ a: mini.string() }), mini.object({ b: mini.string() })),
    {
      allOf: ['a', 'b'].map((name) => ({
        type: 'object',
        properties: { [name]: { type: 'string' } },
        required: [name],
      })),
    },
  ],
  [
    'a value or null',
    z3.string().nullable(),
    mini.nullable(mini.string()),
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
  ],
  [
    'properties that may be absent',
    z3.object({
      optional: z3.string().optional(),
      withDefault: z3.number().default(1),
      caught: z3.string().catch('x'),
      refined: z3
        .string()
        .optional()
        .refine(() => true),
      readonly: z3.string().optional().readonly(),
      lazy: z3.lazy(() => z3.string().optional()),
      nullable: z3.string().nullable(),
    }),
    mini.object({
      optional: mini.optional(mini.string()),
      withDefault: mini._default(mini.number(), 1),
      caught: mini.catch(mini.string(), 'x'),
      refined: mini.optional(mini.string()).check(mini.refine(() => true)),
      readonly: mini.readonly(mini.optional(mini.string())),
      lazy: mini.lazy(() => mini.optional(mini.string())),
      nullable: mini.nullable(mini.string()),
    }),
    {
      type: 'object',
      properties: {
        optional: { type: 'string' },
        withDefault: { type: 'number', default: 1 },
        caught: { type: 'string' },
        refined: { type: 'string' },
        readonly: { type: 'string' },
        lazy: { type: 'string' },
        nullable: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      required: ['nullable'],
    },
  ],
  [
    'an object without other properties',
    z3.object({}).strict(),
    mini.strictObject({}),
    { type: 'object', properties: {}, additionalProperties: false },
  ],
  [
    'an object with other properties of one type',
    z3.object({}).catchall(z3.number()),
    mini.catchall(mini.object({}), mini.number()),
    { type: 'object', properties: {}, additionalProperties: { type: 'number' } },
  ],
  [
    'what a transform takes',
    z3.string().transform((text) => text.length),
    mini.pipe(
      mini.string(),
      mini.transform((text) => text.length),
    ),
    { type: 'string' },
  ],
  [
    'what follows a function that runs first',
    z3.preprocess(String, z3.string()),
    mini.pipe(mini.transform(String), mini.string()),
    { type: 'string' },
  ],
  ['a pipe', z3.string().pipe(z3.string()), mini.pipe(mini.string(), mini.string()), { type: 'string' }],
  [
    'a description',
    z3.string().describe('A city'),
    mini.string().check(mini.describe('A city')),
    { type: 'string', description: 'A city' },
  ],
];

describe.each(TABLE)('%s', (_, three, small, json) => {
  test('of zod 3 is converted', () => expect(new ValueSchema(three, OWNER).json).toEqual(json));

  test('of zod/mini is converted', () => expect(new ValueSchema(small, OWNER).json).toEqual(json));
});

test('a recursive schema of zod 3 is converted once', () => {
  interface Tree {
    readonly name: string;
    readonly children: Tree[];
  }
  const tree: z3.ZodType<Tree> = z3.lazy(() => z3.object({ name: z3.string(), children: z3.array(tree) }));
  expect(new ValueSchema(z3.object({ tree, other: tree }), OWNER).json).toEqual({
    type: 'object',
    properties: { tree: { $ref: '#/$defs/schema0' }, other: { $ref: '#/$defs/schema0' } },
    required: ['tree', 'other'],
    $defs: {
      schema0: {
        type: 'object',
        properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/schema0' } } },
        required: ['name', 'children'],
      },
    },
  });
});

test('a recursive schema of zod/mini refers to its root', () => {
  const tree = mini.object({
    name: mini.string(),
    get children() {
      return mini.array(tree);
    },
  });
  const schema = new ValueSchema(tree, OWNER);
  expect(schema.json).toEqual({
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['name', 'children'],
  });
});

test.each([
  ['date of zod/mini', 'date', mini.object({ at: mini.date() })],
  ['function of zod/v3', 'function', z3.object({ at: z3.function() })],
  ['function of zod 3.22', 'function', old.object({ at: old.function() })],
])('a %s in a schema is refused with an error that says what to write', (_, kind, schema) => {
  expect(() => new ValueSchema(schema, OWNER).json).toThrow(
    new ConfigurationError(
      `tool "f": the schema cannot be converted to JSON Schema: at: ${kind} has no form in JSON; use a string, a number, a boolean, an array or an object`,
    ),
  );
});

describe.each([
  ['zod/v3', z3],
  ['zod 3.22', old as unknown as typeof z3],
])('dates and large integers of %s', (_, zod) => {
  const shape = { at: zod.coerce.date(), until: zod.date().optional(), n: zod.coerce.bigint().default(2n) };
  const schema = new ValueSchema(zod.object(shape), OWNER);

  test('are texts and integers for the model', () => {
    expect(schema.json).toEqual({
      type: 'object',
      properties: {
        at: { type: 'string', format: 'date-time' },
        until: { type: 'string', format: 'date-time' },
        n: { type: 'integer', format: 'int64', default: 2 },
      },
      required: ['at'],
    });
  });

  test('are dates and large integers for the tool', async () => {
    const at = new Date('2026-01-02T03:04:05Z');
    expect(await schema.check({ at: at.toISOString(), n: 5 })).toEqual({ value: { at, n: 5n } });
    expect(await schema.check({ at: at.toISOString(), until: 'soon' })).toHaveProperty('issues');
  });

  test('have defaults that JSON can hold', () => {
    const { json } = new ValueSchema(zod.object({ at: zod.date().default(new Date(0)) }), OWNER);
    expect(json).toMatchObject({ properties: { at: { default: '1970-01-01T00:00:00.000Z' } } });
  });
});

test('a plain record of schemas is refused with an error that says what to write', () => {
  const shapes: object[] = [
    { city: z3.string() },
    { city: mini.string() },
    { city: old.string() },
    { city: type('string') },
  ];
  for (const shape of shapes)
    expect(() => new ValueSchema(shape as SchemaLike, OWNER)).toThrow(
      'tool "f": expected a schema, got an object of schemas; write z.object({ city: … })',
    );
});
