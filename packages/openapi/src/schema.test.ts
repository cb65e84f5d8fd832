import { expect, test } from 'vitest';
import { call, operation, toolOf } from './fixtures/call-tool.ts';

/** The part of a declaration that the tests read. */
interface Declared {
  readonly properties: { readonly body: Record<string, unknown> };
  readonly $defs?: object;
}

/** Returns the schema that the model gets for a body. */
async function bodyOf(schema: unknown, schemas: object = {}, openapi = '3.0.3'): Promise<Record<string, unknown>> {
  const requestBody = { required: true, content: { 'application/json': { schema } } };
  const tool = await toolOf({ ...operation('/a', { requestBody }, { components: { schemas } }), openapi });
  const { properties, $defs } = tool._getDeclaration().parametersJsonSchema as Declared;
  return { ...properties.body, ...($defs && { $defs }) };
}

const PET = { type: 'object', required: ['name'], properties: { name: { type: 'string' }, tag: { type: 'string' } } };
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const LARGE = {
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`property${index}`, { type: 'string' }])),
};

test.each([
  ['a reference and allOf', { A: ref('B'), B: { allOf: [ref('A')] } }, true],
  ['allOf of two', { A: { allOf: [ref('B'), ref('C')] }, B: { allOf: [ref('A')] }, C: { allOf: [ref('A')] } }, true],
  ['not', { A: { not: ref('A') } }, true],
  [
    'alternatives that extend their base',
    {
      A: { type: 'object', properties: { kind: { type: 'string' } }, oneOf: [ref('B'), ref('C')] },
      B: { allOf: [ref('A'), { type: 'object', properties: { b: { type: 'integer' } } }] },
      C: { allOf: [ref('A'), { type: 'object', properties: { c: { type: 'integer' } } }] },
    },
    false,
  ],
])(
  'schemas that describe their own value again through %s are declared, and arguments are checked',
  async (_, schemas, all) => {
    const requestBody = { required: true, content: { 'application/json': { schema: ref('A') } } };
    const document = operation('/echo', { requestBody }, { components: { schemas } });
    expect(await call(document, { body: { kind: 'x' } })).toMatchObject({ body: { body: '{"kind":"x"}' } });
    if (!all) expect(await call(document, { body: { kind: 1 } })).toEqual({ error: expect.stringContaining('kind') });
  },
);

test('a declaration has the parameters, the body and the required arguments', async () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, description: 'Which pet.', schema: { type: 'integer', format: 'int64' } },
    { name: 'X-Trace', in: 'header', schema: { type: 'string', default: 'off' } },
  ];
  const requestBody = { description: 'The pet.', content: { 'application/json': { schema: PET } } };
  const tool = await toolOf(operation('/pets/{id}', { summary: 'Changes a pet.', parameters, requestBody }));
  expect(tool._getDeclaration()).toEqual({
    name: 'call',
    description: 'Changes a pet.',
    parametersJsonSchema: {
      type: 'object',
      properties: {
        id: { type: 'integer', format: 'int64', description: 'Which pet.' },
        'X-Trace': { type: 'string', default: 'off' },
        body: { ...PET, description: 'The pet.' },
      },
      required: ['id'],
      additionalProperties: false,
    },
  });
});

test('only schemas that the operation reaches are declared', async () => {
  const schemas = { Pet: PET, Other: LARGE, Another: { type: 'object', properties: { other: ref('Other') } } };
  expect(await bodyOf(ref('Pet'), schemas)).toEqual(PET);
});

test('a large schema that is used twice is declared once', async () => {
  const schema = {
    type: 'object',
    properties: { a: ref('Large'), b: { ...ref('Large'), description: 'The second.' } },
  };
  expect(await bodyOf(schema, { Large: LARGE }, '3.1.0')).toEqual({
    type: 'object',
    properties: {
      a: { $ref: '#/$defs/Large' },
      b: { description: 'The second.', anyOf: [{ $ref: '#/$defs/Large' }] },
    },
    $defs: { Large: LARGE },
  });
});

test('schemas that contain each other are declared once', async () => {
  const schemas = {
    Tree: {
      type: 'object',
      properties: { leaf: { type: 'string' }, children: { type: 'array', items: ref('Branch') } },
    },
    Branch: { type: 'object', properties: { tree: ref('Tree') } },
  };
  expect(await bodyOf(ref('Tree'), schemas)).toEqual({
    $ref: '#/$defs/Tree',
    $defs: {
      Tree: {
        type: 'object',
        properties: {
          leaf: { type: 'string' },
          children: { type: 'array', items: { type: 'object', properties: { tree: { $ref: '#/$defs/Tree' } } } },
        },
      },
    },
  });
});

test('a reference may lead anywhere in the document, with escapes', async () => {
  const schema = {
    type: 'object',
    properties: {
      own: { $ref: '#/paths/~1a/post/requestBody/content/application~1json/schema/properties/id' },
      escaped: { $ref: '#/components/schemas/a%20b' },
      id: { type: 'integer' },
    },
  };
  expect(await bodyOf(schema, { 'a b': { type: 'boolean' } })).toMatchObject({
    properties: { own: { type: 'integer' }, escaped: { type: 'boolean' } },
  });
});

test('allOf of objects becomes one object', async () => {
  const schemas = {
    Base: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } }, additionalProperties: false },
    Pet: { allOf: [ref('Base'), PET, { description: 'A pet.' }] },
  };
  expect(await bodyOf(ref('Pet'), schemas)).toEqual({
    type: 'object',
    description: 'A pet.',
    required: ['id', 'name'],
    properties: { id: { type: 'integer' }, name: { type: 'string' }, tag: { type: 'string' } },
  });
});

test('allOf keeps members that cannot be merged', async () => {
  const schema = { allOf: [{ type: 'string', minLength: 1 }, { minLength: 2 }] };
  expect(await bodyOf(schema)).toEqual({ type: 'string', minLength: 1, allOf: [{ minLength: 2 }] });
});

test('allOf that contains itself is read once', async () => {
  const schemas = { A: { allOf: [ref('B'), { type: 'object' }] }, B: { allOf: [ref('A')] } };
  expect(JSON.stringify(await bodyOf(ref('A'), schemas))).toContain('"type":"object"');
});

test('oneOf is declared as anyOf, and in allOf beside an anyOf of the schema', async () => {
  expect(
    await bodyOf({ oneOf: [{ type: 'string' }, { type: 'integer' }], discriminator: { propertyName: 'x' } }),
  ).toEqual({
    anyOf: [{ type: 'string' }, { type: 'integer' }],
  });
  expect(await bodyOf({ anyOf: [{ type: 'string' }], oneOf: [{ minLength: 1 }] })).toEqual({
    anyOf: [{ type: 'string' }],
    allOf: [{ anyOf: [{ minLength: 1 }] }],
  });
});

test('nullable of version 3.0 allows null, and is not read in version 3.1', async () => {
  const schema = { type: 'string', enum: ['a'], nullable: true };
  expect(await bodyOf(schema)).toEqual({ type: ['string', 'null'], enum: ['a', null] });
  expect(await bodyOf({ allOf: [ref('Pet')], nullable: true }, { Pet: PET })).toMatchObject({
    type: ['object', 'null'],
  });
  expect(await bodyOf(schema, {}, '3.1.0')).toEqual({ type: 'string', enum: ['a'] });
  expect(await bodyOf({ type: ['string', 'null'] }, {}, '3.1.0')).toEqual({ type: ['string', 'null'] });
});

test('exclusive bounds of version 3.0 become numbers', async () => {
  expect(
    await bodyOf({ type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false }),
  ).toEqual({
    type: 'number',
    exclusiveMinimum: 1,
    maximum: 5,
  });
  expect(await bodyOf({ type: 'number', exclusiveMaximum: 5 }, {}, '3.1.0')).toEqual({
    type: 'number',
    exclusiveMaximum: 5,
  });
});

test('properties of responses, annotations and patterns are left out', async () => {
  const schema = {
    type: 'object',
    required: ['id', 'code', 'owner'],
    properties: {
      id: { type: 'integer', readOnly: true },
      owner: ref('Owner'),
      code: { type: 'string', pattern: '^(?i)[a-z]+$', description: 'A code.', example: 'x', xml: {}, 'x-a': 1 },
      secret: { type: 'string', writeOnly: true, title: 'Secret' },
      kind: { type: 'file' },
    },
    patternProperties: { '^x-': {} },
    additionalProperties: false,
  };
  expect(await bodyOf(schema, { Owner: { type: 'object', readOnly: true } })).toEqual({
    type: 'object',
    required: ['code'],
    properties: {
      code: { type: 'string', description: 'A code.\nMatches the pattern ^(?i)[a-z]+$' },
      secret: { type: 'string', description: 'Secret' },
      kind: {},
    },
  });
});

test('a property may have a boolean schema, or the name of a method of Object', async () => {
  const schema = { type: 'object', properties: { any: true, none: false, constructor: { type: 'string' } } };
  expect(await bodyOf(schema, {}, '3.1.0')).toEqual({
    type: 'object',
    properties: { any: {}, none: { not: {} }, constructor: { type: 'string' } },
  });
});

test('a declaration that would be too large gets shorter descriptions, and fewer levels', async () => {
  const level = (depth: number): object => ({
    type: 'object',
    description: 'd'.repeat(400),
    properties: depth === 0 ? {} : { a: level(depth - 1), b: level(depth - 1), c: { type: 'string' } },
  });
  const tool = await toolOf(
    operation('/a', { requestBody: { content: { 'application/json': { schema: level(9) } } } }),
  );
  const declared = JSON.stringify(tool._getDeclaration().parametersJsonSchema);
  expect(declared.length).toBeLessThanOrEqual(30_000);
  expect(declared).toContain('"c":{"type":"string"}');
  const recursive = Object.fromEntries(
    Array.from({ length: 600 }, (_, index) => [
      `S${index}`,
      {
        type: 'object',
        properties: { next: ref(`S${(index + 1) % 600}`), again: ref(`S${(index * 7) % 600}`), ...LARGE.properties },
      },
    ]),
  );
  expect(JSON.stringify(await bodyOf(ref('S0'), recursive)).length).toBeLessThanOrEqual(30_000);
});

test('a chain of thousands of schemas is read without overflow', async () => {
  const chain = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [
      `S${index}`,
      { type: 'object', properties: index === 4999 ? {} : { next: ref(`S${index + 1}`) } },
    ]),
  );
  expect(JSON.stringify(await bodyOf(ref('S0'), chain)).length).toBeLessThanOrEqual(30_000);
  const inherited = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [
      `S${index}`,
      index === 999 ? PET : { allOf: [ref(`S${index + 1}`)], properties: { [`p${index}`]: { type: 'string' } } },
    ]),
  );
  expect(JSON.stringify(await bodyOf(ref('S0'), inherited)).length).toBeLessThanOrEqual(30_000);
});
