import { expect, inject, test } from 'vitest';
import { call, echo, operation } from './fixtures/call-tool.ts';

const LIST = ['blue', 'black'];
const OBJECT = { R: 100, G: 200 };
const anything = {};

/** Returns the URL of a call with one parameter `color` of this value. */
async function urlOf(place: string, details: object, value: unknown, path = '/echo'): Promise<string> {
  const parameter = { name: 'color', in: place, required: true, schema: anything, ...details };
  const { url } = await echo(operation(path, { parameters: [parameter] }), { color: value });
  return url;
}

// The table of style examples in the OpenAPI Specification.
test.each([
  ['simple', false, 'blue', 'blue'],
  ['simple', false, LIST, 'blue,black'],
  ['simple', false, OBJECT, 'R,100,G,200'],
  ['simple', true, OBJECT, 'R=100,G=200'],
  ['label', false, 'blue', '.blue'],
  ['label', false, LIST, '.blue,black'],
  ['label', true, LIST, '.blue.black'],
  ['label', false, OBJECT, '.R,100,G,200'],
  ['label', true, OBJECT, '.R=100.G=200'],
  ['matrix', false, 'blue', ';color=blue'],
  ['matrix', false, LIST, ';color=blue,black'],
  ['matrix', true, LIST, ';color=blue;color=black'],
  ['matrix', false, OBJECT, ';color=R,100,G,200'],
  ['matrix', true, OBJECT, ';R=100;G=200'],
  ['matrix', false, '', ';color'],
  ['matrix', true, '', ';color'],
  ['matrix', true, ['', 'blue'], ';color;color=blue'],
  ['matrix', true, { R: '', G: 1 }, ';R;G=1'],
])('a path parameter of style %s, explode %s, writes %j as %s', async (style, explode, value, written) => {
  expect(await urlOf('path', { style, explode }, value, '/echo/{color}')).toBe(`/echo/${written}`);
});

test.each([
  [{}, 'blue', 'color=blue'],
  [{}, LIST, 'color=blue&color=black'],
  [{}, OBJECT, 'R=100&G=200'],
  [{}, '', 'color='],
  [{ explode: false }, LIST, 'color=blue,black'],
  [{ explode: false }, OBJECT, 'color=R,100,G,200'],
  [{ style: 'spaceDelimited', explode: false }, LIST, 'color=blue%20black'],
  [{ style: 'spaceDelimited', explode: false }, OBJECT, 'color=R%20100%20G%20200'],
  [{ style: 'pipeDelimited', explode: false }, LIST, 'color=blue%7Cblack'],
  [{ style: 'pipeDelimited', explode: false }, OBJECT, 'color=R%7C100%7CG%7C200'],
  [{ style: 'pipeDelimited', explode: true }, LIST, 'color=blue&color=black'],
  [{ style: 'deepObject', explode: true }, OBJECT, 'color%5BR%5D=100&color%5BG%5D=200'],
  [{ style: 'deepObject' }, { a: { b: [1, 2] } }, 'color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2'],
  [
    { content: { 'application/json': { schema: {} } }, schema: undefined },
    OBJECT,
    'color=%7B%22R%22%3A100%2C%22G%22%3A200%7D',
  ],
  [{}, 'a&b=c#d e/é', 'color=a%26b%3Dc%23d%20e%2F%C3%A9'],
  [{ allowReserved: true }, '/a?b=c:@!$()*,;[]', 'color=/a?b=c:@!$()*,;[]'],
  [{ allowReserved: true }, 'a&b#c+d e%20f%', 'color=a%26b%23c%2Bd%20e%20f%25'],
  [{}, [1, { x: true }, null], 'color=1&color=%7B%22x%22%3Atrue%7D'],
])('a query parameter %j writes %j as %s', async (details, value, written) => {
  expect(await urlOf('query', details, value)).toBe(`/echo?${written}`);
});

test.each([[null], [[]], [{}]])('a query parameter without a value writes nothing for %j', async (value) => {
  expect(await urlOf('query', {}, value)).toBe('/echo');
});

test('parameters of headers and cookies are sent in them', async () => {
  const parameters = [
    { name: 'X-Colors', in: 'header', schema: anything },
    { name: 'X-Object', in: 'header', schema: anything, explode: true },
    { name: 'session', in: 'cookie', schema: anything },
    { name: 'tags', in: 'cookie', schema: anything, explode: false },
  ];
  const { headers } = await echo(operation('/echo', { parameters }), {
    'X-Colors': LIST,
    'X-Object': OBJECT,
    session: 'a b',
    tags: LIST,
  });
  expect(headers).toMatchObject({
    'x-colors': 'blue,black',
    'x-object': 'R=100,G=200',
    cookie: 'session=a%20b; tags=blue,black',
  });
});

test('headers that belong to the runtime are not parameters', async () => {
  const parameters = ['Accept', 'Authorization', 'content-type', 'Host', 'Content-Length'].map((name) => ({
    name,
    in: 'header',
    required: true,
    schema: anything,
  }));
  const { headers } = await echo(operation('/echo', { parameters }));
  expect(headers['authorization']).toBeUndefined();
});

test.each(['simple', 'matrix'])('a path parameter of style %s may not be an empty list', async (style) => {
  const parameters = [{ name: 'id', in: 'path', required: true, style, schema: {} }];
  const message = 'the argument id is a part of the path: expected a value that is not empty';
  expect(await call(operation('/echo/{id}', { parameters }), { id: [] })).toEqual({ error: message });
});

test.each(['.', '..', '%2e%2E', ''])('a path parameter may not be %j', async (id) => {
  const parameters = [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }];
  const result = await call(operation('/echo/{id}/x', { parameters }), { id });
  // A percent sign is encoded, so `%2e` is not a dot.
  if (id.startsWith('%')) expect(result).toMatchObject({ body: { url: '/echo/%252e%252E/x' } });
  else
    expect(result).toEqual({
      error: expect.stringMatching(/expected a value that is not empty|leads to another path/),
    });
});

test('a styled value that ends in a dot segment is refused', async () => {
  const parameters = [{ name: 'id', in: 'path', required: true, style: 'label', schema: { type: 'string' } }];
  expect(await call(operation('/echo/{id}/x', { parameters }), { id: '.' })).toEqual({
    error: 'the path would contain "..", which leads to another path; give another value',
  });
});

test('a slash in a path parameter stays in its segment', async () => {
  expect(await urlOf('path', {}, '../../admin', '/echo/{color}/x')).toBe('/echo/..%2F..%2Fadmin/x');
});

test.each(['a\r\nx-admin: 1', 'a\u0000', '名'])('a header parameter may not be %j', async (value) => {
  const parameters = [{ name: 'X-Note', in: 'header', schema: { type: 'string' } }];
  expect(await call(operation('/echo', { parameters }), { 'X-Note': value })).toEqual({
    error: 'the header x-note: expected characters of ISO 8859-1 without line breaks',
  });
});

test('parameters of the same name in two places have two arguments', async () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
    { name: 'id', in: 'query', schema: { type: 'string' } },
    { name: 'filter[name]', in: 'query', schema: { type: 'string' } },
    { name: 'body', in: 'query', schema: { type: 'string' } },
  ];
  const requestBody = { required: true, content: { 'application/json': { schema: { type: 'object' } } } };
  const received = await echo(operation('/echo/{id}', { parameters, requestBody }), {
    id: 1,
    id_query: 'a',
    filter_name_: 'b',
    body: 'c',
    body_request: { d: 1 },
  });
  expect(received).toMatchObject({ url: '/echo/1?id=a&filter%5Bname%5D=b&body=c', body: '{"d":1}', method: 'POST' });
});

test('an operation replaces parameters of its path, and a query in the path stays', async () => {
  const received = await echo(
    {
      openapi: '3.1.0',
      servers: [{ url: '/' }],
      paths: {
        '/echo?version=2': {
          parameters: [
            { name: 'a', in: 'query', required: true, schema: { type: 'string' } },
            { name: 'b', in: 'query', schema: { type: 'string' } },
          ],
          get: { operationId: 'call', parameters: [{ name: 'a', in: 'query', schema: { type: 'integer' } }] },
        },
      },
    },
    { a: 1, b: 'x' },
    { baseUrl: inject('api') },
  );
  expect(received.url).toBe('/echo?version=2&a=1&b=x');
});

test('a template of the path without a parameter is a required argument', async () => {
  expect(await call(operation('/echo/{id}', {}))).toEqual({
    error: expect.stringContaining('Instance does not have required property "id"'),
  });
  expect((await echo(operation('/echo/{id}', {}), { id: 'x' })).url).toBe('/echo/x');
});

test('arguments that do not match the schema are not sent', async () => {
  const parameters = [{ name: 'limit', in: 'query', schema: { type: 'integer', maximum: 10 } }];
  const result = await call(operation('/echo', { parameters }), { limit: 99, other: 1 });
  expect(result).toEqual({ error: expect.stringMatching(/^the arguments of call are not valid: .*limit.*/) });
  expect(result['error']).toContain('other: is not allowed');
});
