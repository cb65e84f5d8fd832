import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { OpenApiDocumentError } from './errors.ts';
import { contextOf, documentOf, operation, toolOf, toolsetOf } from './fixtures/call-tool.ts';
import { OpenAPIToolset } from './openapi-toolset.ts';

const get = (operationId: string, rest: object = {}) => ({ get: { operationId, ...rest } });

async function namesOf(toolset: OpenAPIToolset): Promise<string[]> {
  return (await toolset.getTools()).map(({ name }) => name);
}

/** Returns the pointer and the message of the error for a document. */
function faultOf(specDict: object): readonly [string, string] {
  try {
    toolsetOf(specDict);
  } catch (error) {
    if (OpenApiDocumentError.isInstance(error)) return [error.pointer, error.message];
    throw error;
  }
  throw new TypeError('the document was accepted');
}

const self: Record<string, unknown> = { type: 'object' };
self['properties'] = { self };
const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) });
const schemaOf = (schema: unknown) => operation('/a', { requestBody: { content: { 'application/json': { schema } } } });

test.each([
  [
    'of version 2',
    { swagger: '2.0', paths: {} },
    '#/swagger',
    'expected version 3.0 or 3.1, got "2.0"; convert the document',
  ],
  ['of version 3.2', { openapi: '3.2.0', paths: {} }, '#/openapi', 'got "3.2.0"'],
  ['without a version', { paths: {} }, '#/openapi', 'expected version 3.0 or 3.1, got nothing'],
  ['with a list of paths', documentOf([]), '#/paths', 'expected an object, got a list'],
  ['with a relative path', documentOf({ pets: {} }), '#/paths/pets', 'expected a path that begins with a slash'],
  [
    'with an id twice',
    documentOf({ '/a': get('list'), '/b': get('list') }),
    '#/paths/~1b/get/operationId',
    '"list" is the id of #/paths/~1a/get/operationId too',
  ],
  [
    'with a number as id',
    documentOf({ '/a': { get: { operationId: 5 } } }),
    '#/paths/~1a/get/operationId',
    'expected a string',
  ],
  [
    'that names a file',
    schemaOf({ $ref: '../../etc/passwd' }),
    '#/paths/~1a/post/requestBody/content/application~1json/schema/$ref',
    '"../../etc/passwd" is outside of the document',
  ],
  ['that names a URL', schemaOf({ $ref: 'http://169.254.169.254/#/a' }), /schema\/\$ref$/, 'outside of the document'],
  ['with a reference to nothing', schemaOf({ $ref: '#/components/schemas/Pet' }), /\$ref$/, 'is not in the document'],
  ['with a reference to a prototype', schemaOf({ $ref: '#/__proto__/toString' }), /\$ref$/, 'is not in the document'],
  ['with a reference to a method', schemaOf({ $ref: '#/paths/constructor' }), /\$ref$/, 'is not in the document'],
  ['with a reference to a list’s length', schemaOf({ $ref: '#/servers/length' }), /\$ref$/, 'is not in the document'],
  [
    'with references in a circle',
    operation(
      '/a',
      { parameters: [{ $ref: '#/components/parameters/a' }] },
      {
        components: {
          parameters: { a: { $ref: '#/components/parameters/b' }, b: { $ref: '#/components/parameters/a' } },
        },
      },
    ),
    '#/components/parameters/b/$ref',
    '"#/components/parameters/a" leads back to itself',
  ],
  ['that contains itself', schemaOf(self), /\/properties\/self$/, 'contains itself'],
  ['of too many levels', schemaOf(deep(300)), /^#\/paths/, 'has more than 200 levels'],
  [
    'with the name __proto__',
    schemaOf(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')),
    /properties\/__proto__$/,
    'the name "__proto__" cannot be used',
  ],
  ['with an invalid schema', schemaOf(5), /schema$/, 'expected a schema, got the number 5'],
  [
    'with a body as a parameter',
    operation('/a', { parameters: [{ name: 'a', in: 'body' }] }),
    /parameters\/0\/in$/,
    'expected path, query, header or cookie, got "body"',
  ],
  [
    'with a parameter without a name',
    operation('/a', { parameters: [{ in: 'query' }] }),
    /0\/name$/,
    'the parameter has no name; write name',
  ],
  [
    'with a style of another place',
    operation('/a', { parameters: [{ name: 'a', in: 'query', style: 'matrix' }] }),
    /0\/style$/,
    'expected form, spaceDelimited, pipeDelimited, deepObject in query, got "matrix"',
  ],
  [
    'with an unknown security scheme',
    operation('/a', { security: [{ key: [] }] }),
    /security\/0\/key$/,
    'is not in components',
  ],
])('a document %s is refused with its place', (_, specDict, pointer, message) => {
  const [place, text] = faultOf(specDict);
  expect(place).toEqual(typeof pointer === 'string' ? pointer : expect.stringMatching(pointer));
  expect(text).toContain(`OpenAPI document, ${place}: `);
  expect(text).toContain(message);
});

test('an object that is referenced in many places is read once', async () => {
  let shared: object = { type: 'string' };
  // Expanded, the document would have 2^60 properties.
  for (let level = 0; level < 60; level++) shared = { properties: { a: shared, b: shared } };
  expect(() => toolsetOf({ ...documentOf({}), 'x-shared': shared })).not.toThrow();
});

test('text is JSON if it starts with a brace, and YAML otherwise', async () => {
  const json = JSON.stringify(documentOf({ '/pets': get('listPets') }));
  expect(await namesOf(new OpenAPIToolset({ specStr: ` \n${json}` }))).toEqual(['list_pets']);
  const yaml = `
openapi: 3.1.0
servers: [{ url: https://api.example.com }]
paths:
  /pets:
    get:
      operationId: listPets
      responses:
        200: { description: ok }
`;
  const toolset = new OpenAPIToolset({ specStr: yaml });
  expect(await namesOf(toolset)).toEqual(['list_pets']);
  expect(await toolset.getTools()).toEqual(await toolset.getTools());
});

const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 20 }, (_, level) => `l${level}: &l${level} [${`*${level === 0 ? 'a' : `l${level - 1}`},`.repeat(9)}]`).join('\n')}`;

test.each([
  ['is no JSON', { specStr: '{"openapi": ' }, 'OpenAPI document, #: is not JSON'],
  ['is no JSON by its type', { specStr: 'openapi: 3.0.0', specType: 'json' }, 'is not JSON'],
  ['is not an object', { specStr: '[]', specType: 'json' }, 'expected an object, got a list'],
  [
    'is too long',
    { specStr: `{"x":"${'x'.repeat(10_485_760)}"}` },
    'has 10485768 characters; at most 8000000 are read',
  ],
] as const)('text that %s is refused by the constructor', (_, options, message) => {
  expect(() => new OpenAPIToolset(options)).toThrow(message);
});

test.each([
  ['is no YAML', 'a: [', 'is not YAML'],
  ['is only text', 'hello', 'expected an object, got a string'],
  ['repeats aliases', bomb, 'is not YAML: Excessive alias count'],
])('text that %s is refused when the tools are listed', async (_, specStr, message) => {
  const toolset = new OpenAPIToolset({ specStr });
  await expect(toolset.getTools()).rejects.toThrow(OpenApiDocumentError);
  await expect(toolset.getTools()).rejects.toThrow(message);
});

test('YAML with 100,000 keys is read in linear time', async () => {
  const keys = Array.from({ length: 100_000 }, (_, index) => `  k${index}: v`).join('\n');
  const specStr = `openapi: 3.0.0\nservers: [{ url: https://api.example.com }]\npaths: { /a: { get: {} } }\nx:\n${keys}\n`;
  expect(await namesOf(new OpenAPIToolset({ specStr }))).toEqual(['get_a']);
});

test('a repeated key in YAML is refused, and the error names it', async () => {
  const specStr = 'openapi: 3.0.0\npaths:\n  /a: {}\n  /a: {}\n';
  await expect(new OpenAPIToolset({ specStr }).getTools()).rejects.toMatchObject({
    code: 'OPENAPI_DOCUMENT',
    message: expect.stringContaining('the key "/a" appears twice in one object'),
  });
});

test.each(['/../admin', '/a/./b', '/..'])('the path %s, which leaves the server, is refused', (path) => {
  expect(() => toolsetOf(documentOf({ [path]: { get: {} } }))).toThrow(
    'the path has a segment . or .., which can lead out of the path of the server',
  );
});

test.each([
  [{}, 'the document is missing; write specDict'],
  [{ specDict: {}, specStr: '' }, 'has specDict and specStr; remove one of them'],
  [{ specStr: {} }, 'specStr: expected JSON or YAML text, got an object'],
  [{ spec: {} }, 'has no option "spec"; write specDict: an object, or specStr'],
  [{ specDict: {}, specType: 'xml' }, 'specType: expected one of json, yaml, got "xml"; write specType: \'json\''],
  [{ specDict: {}, baseUrl: 'api.example.com' }, 'baseUrl: expected a URL with http: or https:'],
  [{ specDict: {}, baseUrl: 'file:///etc' }, 'baseUrl: expected a URL with http: or https:'],
  [
    { specDict: {}, authScheme: { type: 'apiKey' } },
    'authScheme: expected a security scheme of OpenAPI, got an object; write authScheme: { type',
  ],
  [
    { specDict: {}, timeoutMs: 0 },
    'timeoutMs: expected an integer from 1 to 2147483647, got the number 0; write timeoutMs: 10000',
  ],
  [{ specDict: {}, maxBytes: 1e9 }, 'maxBytes: expected an integer from 1 to 7500000'],
])('the options %j are refused', (options, message) => {
  expect(() => new OpenAPIToolset(options as never)).toThrow(message);
  expect(() => new OpenAPIToolset(options as never)).toThrow(ConfigurationError);
});

test('tools are named after their ids in snake case, as in the ADK', async () => {
  const ids = {
    getPetById: 'get_pet_by_id',
    'get-pet.by ID': 'get_pet_by_id_2',
    'repos/list-for-org': 'repos_list_for_org',
    HTTPServerStart: 'http_server_start',
    '2fa': '_2fa',
    取得: 'operation',
    [`a${'b'.repeat(100)}1`]: `a${'b'.repeat(59)}`,
    [`a${'b'.repeat(100)}2`]: `a${'b'.repeat(57)}_2`,
  };
  const paths = Object.fromEntries(Object.keys(ids).map((id, index) => [`/${index}`, get(id)]));
  expect(await namesOf(toolsetOf(documentOf(paths)))).toEqual(Object.values(ids));
});

test('an operation without an id is named after its method and path', async () => {
  const toolset = toolsetOf(documentOf({ '/pets/{petId}': { delete: {}, get: {} }, '/': { post: {} } }));
  expect(await namesOf(toolset)).toEqual(['get_pets_pet_id', 'delete_pets_pet_id', 'post']);
});

test('a prefix is added, and the name is truncated to the length that models accept', async () => {
  const toolset = toolsetOf(documentOf({ '/': get('x'.repeat(80)), '/b': get('list') }), { prefix: 'petstore' });
  expect(await namesOf(toolset)).toEqual([`petstore_${'x'.repeat(55)}`, 'petstore_list']);
});

test('the method trace is left out, because no client can send it', async () => {
  expect(await namesOf(toolsetOf(documentOf({ '/': { trace: {}, head: {}, options: {} } })))).toEqual([
    'head',
    'options',
  ]);
});

test('the operations of a path, and their parameters, come in the order of the ADK', async () => {
  const text = { type: 'string' };
  const parameter = (name: string) => ({ name, in: 'query', schema: text });
  const pets = {
    patch: { operationId: 'rename' },
    put: { operationId: 'replace' },
    parameters: [parameter('herd'), parameter('kind')],
    get: { operationId: 'list', parameters: [parameter('limit'), parameter('kind')] },
    post: { operationId: 'add', requestBody: { content: { 'application/json': { schema: { type: 'object' } } } } },
  };
  const tools = await toolsetOf(documentOf({ '/pets': pets, '/': { get: {} } })).getTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(['list', 'add', 'replace', 'rename', 'get']);
  const declared = tools.map((tool) => tool._getDeclaration()?.parametersJsonSchema as { properties: object });
  expect(declared.slice(0, 2).map(({ properties }) => Object.keys(properties))).toEqual([
    ['limit', 'kind', 'herd'],
    ['herd', 'kind', 'body'],
  ]);
});

test('tags, operations, a function and toolFilter select tools', async () => {
  const specDict = documentOf({
    '/pets': {
      get: { operationId: 'listPets', tags: ['pets'] },
      post: { operationId: 'addPet', tags: ['pets', 'admin'] },
    },
    '/users': { get: { tags: ['admin'] } },
  });
  const select = (options: object) => namesOf(toolsetOf(specDict, options));
  expect(await select({ tags: ['admin'] })).toEqual(['add_pet', 'get_users']);
  expect(await select({ operations: ['listPets', 'GET /users'] })).toEqual(['list_pets', 'get_users']);
  expect(await select({ operations: ({ method }: { method: string }) => method === 'POST' })).toEqual(['add_pet']);
  expect(await select({ tags: ['pets'], operations: ['addPet'] })).toEqual(['add_pet']);
  const filtered = toolsetOf(specDict, { toolFilter: ['add_pet'] });
  expect((await filtered.getTools(contextOf())).map(({ name }) => name)).toEqual(['add_pet']);
  expect(() => toolsetOf(specDict, { tags: ['pet'] })).toThrow(
    'tags: no operation of the document has the tag "pet"; the tags are: ',
  );
  expect(() => toolsetOf(specDict, { operations: ['GET /pet'] })).toThrow(
    'operations: the document has no operation "GET /pet"',
  );
});

test('operations that are not selected may be malformed', async () => {
  const specDict = documentOf({ '/a': get('good'), '/b': get('bad', { parameters: [{ $ref: '#/nothing' }] }) });
  expect(await namesOf(toolsetOf(specDict, { operations: ['good'] }))).toEqual(['good']);
  expect(() => toolsetOf(specDict)).toThrow(OpenApiDocumentError);
});

test('descriptions join summary and description, and are truncated', async () => {
  const describe = async (details: object) => (await toolOf(operation('/a', details))).description;
  expect(await describe({ summary: 'Lists pets.', description: 'Of all kinds.' })).toBe('Lists pets.\n\nOf all kinds.');
  expect(await describe({ summary: 'Same.', description: 'Same.' })).toBe('Same.');
  expect(await describe({})).toBe('GET /a');
  expect(await describe({ deprecated: true, summary: 'Old.' })).toBe('Deprecated.\n\nOld.');
  expect(await describe({ description: 'x'.repeat(5000) })).toHaveLength(1024);
});

test('GET, HEAD, OPTIONS, PUT and DELETE are idempotent', async () => {
  const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];
  const item = Object.fromEntries(methods.map((method) => [method, { operationId: method }]));
  const tools = await toolsetOf(documentOf({ '/a': item })).getTools();
  expect(tools.filter(({ isIdempotent }) => !isIdempotent).map(({ name }) => name)).toEqual(['post', 'patch']);
});

test.each([
  [[{ url: '/v1' }], {}, 'is not a URL with a host; write baseUrl'],
  [[], {}, 'names no server; write baseUrl'],
  [[{ url: 'https://{region}.example.com', variables: {} }], {}, 'is not a URL with a host'],
])('the servers %j need options', (servers, options, message) => {
  expect(() => toolsetOf({ ...documentOf({ '/a': get('a') }), servers }, options)).toThrow(message);
});
