import { InMemoryArtifactService } from '@eventloom/artifacts';
import { expect, inject, test, vi } from 'vitest';
import { call, contextOf, documentOf, echo, operation, toolOf } from './fixtures/call-tool.ts';

const query = (...names: string[]) => names.map((name) => ({ name, in: 'query', schema: {} }));
/** An operation whose arguments describe the response: see `provideApi`. */
const RAW = operation('/raw', {
  parameters: query('status', 'type', 'body', 'base64', 'location', 'size'),
  responses: { 200: { headers: { 'X-Total': {}, 'Set-Cookie': {} } } },
});

test('a JSON body is sent unchanged', async () => {
  const requestBody = { required: true, content: { 'application/json': { schema: { type: 'object' } } } };
  const received = await echo(operation('/echo', { requestBody }), { body: { name: 'Ann', tags: [1, null] } });
  expect(received).toMatchObject({ method: 'POST', body: '{"name":"Ann","tags":[1,null]}' });
  expect(received.headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json, */*;q=0.5' });
});

test('the first media type of JSON is preferred, and a body that is not required may be absent', async () => {
  const content = { 'application/xml': {}, 'application/vnd.api+json; charset=utf-8': {} };
  const specDict = operation('/echo', { requestBody: { content } });
  expect((await echo(specDict, { body: [1] })).headers['content-type']).toBe('application/vnd.api+json');
  const without = await echo(specDict);
  expect([without.method, without.body, without.headers['content-type']]).toEqual(['POST', '', undefined]);
});

test('the media types of successful responses are accepted', async () => {
  const responses = {
    200: { content: { 'text/csv': {}, 'application/json': {} } },
    201: { $ref: '#/components/responses/created' },
    404: { content: { 'text/html': {} } },
  };
  const components = { responses: { created: { content: { 'application/json': {} } } } };
  const { headers } = await echo(operation('/echo', { responses }, { components }));
  expect(headers['accept']).toBe('text/csv, application/json, */*;q=0.1');
});

test('the result is the status and the body', async () => {
  expect(await call(RAW, { body: '{"a":[1]}' })).toEqual({
    status: 200,
    headers: { 'x-total': '7' },
    body: { a: [1] },
  });
  expect(await call(RAW, { type: 'application/problem+json', body: '[]' })).toMatchObject({ body: [] });
  expect(await call(RAW, { type: 'text/html; charset=utf-8', body: '<p>' })).toMatchObject({ body: '<p>' });
  expect(await call(RAW, { type: 'application/json', body: 'no json' })).toMatchObject({ body: 'no json' });
  expect(await call(RAW, { status: 204 })).toEqual({ status: 204 });
});

test('the headers location and link are in the result, cookies are not', async () => {
  const result = await call(RAW, { status: 201, location: '/pets/1', body: '{}' });
  expect(result).toEqual({ status: 201, headers: { location: '/pets/1' }, body: {} });
});

test('text has the character set of its type', async () => {
  const latin1 = btoa('caf\u00e9');
  expect(await call(RAW, { type: 'text/plain; charset="iso-8859-1"', base64: latin1 })).toMatchObject({ body: 'café' });
  expect(await call(RAW, { type: 'text/plain; charset=none', base64: btoa('a') })).toMatchObject({ body: 'a' });
});

test.each([400, 404, 500])('status %i is a result with an error', async (status) => {
  expect(await call(RAW, { status, body: '{"message":"no"}' })).toEqual({
    error: `the API answered with HTTP status ${status}`,
    status,
    body: { message: 'no' },
  });
});

test('long text is truncated, and the result says so', async () => {
  expect(await call(RAW, { size: 20, type: 'text/plain' }, { maxCharacters: 10 })).toMatchObject({
    body: 'xxxxxxxxxx',
    truncated: 'the body is longer than 10 characters; this is its beginning',
  });
  expect(await call(RAW, { body: '{"a":"bbbbbbbbbb"}' }, { maxCharacters: 10 })).toMatchObject({ body: '{"a":"bbbb' });
});

test('a body beyond maxBytes is not read', async () => {
  expect(await call(RAW, { size: 10_485_760, type: 'text/plain' }, { maxBytes: 1000 })).toMatchObject({
    body: 'x'.repeat(1000),
    truncated: 'the body is longer than 1000 characters; this is its beginning',
  });
  expect(await call(RAW, { size: 10_485_760, type: 'image/png' }, { maxBytes: 1000 })).toMatchObject({
    truncated: 'the body, image/png, is longer than 1000 bytes; it was not read',
  });
});

test('an image becomes a part', async () => {
  const result = await call(RAW, { type: 'image/png', base64: 'iVBORw0KGgo=' });
  expect(result['response']).toMatchObject({ status: 200, mediaType: 'image/png' });
  expect(result['parts']).toEqual([{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]);
});

test('another file becomes an artifact, or is left out without a service', async () => {
  const zip = { type: 'application/zip', base64: 'UEsDBA==' };
  expect(await call(RAW, zip)).toMatchObject({
    mediaType: 'application/zip',
    size: 4,
    note: 'the body is binary and is left out',
  });
  const toolContext = contextOf({ artifactService: new InMemoryArtifactService() });
  const tool = await toolOf(RAW);
  expect(await tool.runAsync({ args: zip, toolContext })).toMatchObject({ artifact: 'call.zip', version: 0 });
  expect(await toolContext.loadArtifact('call.zip')).toEqual({
    inlineData: { mimeType: 'application/zip', data: 'UEsDBA==' },
  });
  expect(toolContext.actions.artifactDelta).toEqual({ 'call.zip': 0 });
});

test('a redirect is followed within the allowed hosts', async () => {
  const location = `${inject('api')}/echo/moved`;
  expect(await call(RAW, { status: 302, location })).toMatchObject({ body: { method: 'GET', url: '/echo/moved' } });
  expect(await call(RAW, { status: 301, location: '/echo/here' })).toMatchObject({ body: { url: '/echo/here' } });
});

test.each([
  [
    'http://other.example/',
    "the API redirects to other.example, which is not one of the allowed hosts; to allow it, write allowedHosts: ['other.example'] in the options of OpenAPIToolset",
  ],
  [
    'http://127.0.0.1:1/',
    "the API redirects to 127.0.0.1:1, which is not one of the allowed hosts; to allow it, write allowedHosts: ['127.0.0.1:1'] in the options of OpenAPIToolset",
  ],
  ['file:///etc/passwd', 'the URL of the API has the scheme file:; expected http: or https:'],
  ['http://', 'the API redirects to something that is not a URL'],
])('a redirect to %s is refused', async (location, error) => {
  expect(await call(RAW, { status: 302, location })).toEqual({ error });
});

test('a redirect with a user and a password is refused', async () => {
  const location = inject('api').replace('//', '//user:secret@');
  expect(await call(RAW, { status: 307, location })).toEqual({
    error: 'the URL of the API has a user or a password; write authScheme and authCredential instead',
  });
});

test('a request with more than five redirects is an error', async () => {
  const specDict = operation('/raw', { parameters: query('status', 'location') });
  const nested = (depth: number): string =>
    depth === 0 ? '/echo' : `/raw?status=302&location=${encodeURIComponent(nested(depth - 1))}`;
  expect(await call(specDict, { status: 302, location: nested(4) })).toMatchObject({ status: 200 });
  expect(await call(specDict, { status: 302, location: nested(5) })).toEqual({
    error: 'the API redirects more than 5 times',
  });
});

test('a redirect keeps method and body with 307, and becomes GET with 303', async () => {
  const specDict = documentOf({
    '/raw': {
      post: {
        operationId: 'call',
        parameters: [...query('status', 'location'), { name: 'X-Key', in: 'header', schema: {} }],
        requestBody: { content: { 'application/json': {} } },
      },
    },
  });
  const args = { location: '/echo', 'X-Key': 'k', body: { a: 1 } };
  const { body: kept } = await call(specDict, { ...args, status: 307 });
  expect(kept).toMatchObject({ method: 'POST', body: '{"a":1}', headers: { 'x-key': 'k' } });
  for (const status of [301, 302, 303]) {
    const { body } = await call(specDict, { ...args, status });
    expect(body).toMatchObject({ method: 'GET', body: '', headers: { 'x-key': 'k' } });
    expect(body).not.toHaveProperty('headers.content-type');
  }
});

test('another origin gets no headers that may hold secrets', async () => {
  const specDict = operation('/raw', {
    parameters: [...query('status', 'location'), { name: 'X-Note', in: 'header', schema: {} }],
  });
  const other = inject('api').replace('127.0.0.1', 'localhost');
  const allowedHosts = [new URL(inject('api')).host, new URL(other).host];
  const { body } = await call(
    specDict,
    { status: 302, location: `${other}/echo`, 'X-Note': 'secret' },
    { allowedHosts, headerProvider: () => ({ Authorization: 'Bearer secret', 'x-api-key': 'secret' }) },
  );
  expect(body).toMatchObject({ url: '/echo', headers: { accept: expect.any(String) } });
  expect(JSON.stringify(body)).not.toContain('secret');
});

test('headerProvider may return the headers of a request asynchronously', async () => {
  const headerProvider = async ({ userId }: { userId: string }) => ({ 'X-User': userId });
  const { headers } = await echo(operation('/echo', {}), {}, { headerProvider });
  expect(headers['x-user']).toBe('u');
});

test('internal addresses are refused unless they are allowed', async () => {
  expect(await call(RAW, {}, { allowPrivateNetworkAccess: false })).toEqual({
    error: expect.stringMatching(
      /^the host 127.0.0.1 is not public; .* allowPrivateNetworkAccess: true in the options of OpenAPIToolset$/,
    ),
  });
});

test('allowedHosts refuses the server of the document as well', async () => {
  expect(await call(RAW, {}, { allowedHosts: ['api.example.com'] })).toEqual({
    error: expect.stringContaining(
      `${new URL(inject('api')).host}, which is not one of the allowed hosts; to allow it, write`,
    ),
  });
});

test('an unreachable API is an error of the call', async () => {
  const result = await call(operation('/a', {}), {}, { baseUrl: 'http://127.0.0.1:9' });
  expect(result).toEqual({ error: expect.stringMatching(/^127\.0\.0\.1:9 cannot be reached: ./) });
});

test('an API that does not answer in time is an error of the call', async () => {
  const key = crypto.randomUUID();
  const specDict = operation('/stall', { parameters: query('key') });
  const late = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  const calling = call(specDict, { key }, { timeoutMs: 20 });
  await fetch(`${inject('api')}/stalled?key=${key}`);
  late.abort();
  expect(timeout).toHaveBeenCalledWith(20);
  timeout.mockRestore();
  expect(await calling).toEqual({
    error: `${new URL(inject('api')).host} did not answer in 20 ms`,
  });
  expect((await fetch(`${inject('api')}/closed?key=${key}`)).ok).toBe(true);
});

test('an abort of the run closes the connection', async () => {
  const key = crypto.randomUUID();
  const tool = await toolOf(operation('/stall', { parameters: query('key') }));
  const toolContext = contextOf();
  const running = tool.runAsync({ args: { key }, toolContext });
  await fetch(`${inject('api')}/stalled?key=${key}`);
  toolContext.invocationContext.invocation.abort.abort(new Error('enough'));
  await expect(running).rejects.toThrow();
  expect((await fetch(`${inject('api')}/closed?key=${key}`)).ok).toBe(true);
});

test('a server may have variables, and one of the path or the operation takes precedence', async () => {
  const { host } = new URL(inject('api'));
  const servers = [
    { url: 'http://{place}/echo/{version}/', variables: { place: { default: host }, version: { default: 'v1' } } },
  ];
  const at = (specDict: object, options?: object) => echo(specDict, {}, options).then(({ url }) => url);
  const details = { operationId: 'call' };
  const document = { openapi: '3.0.0', servers, paths: { '/a': { get: details } } };
  expect(await at(document)).toBe('/echo/v1/a');
  expect(await at(document, { serverVariables: { version: 'v2' } })).toBe('/echo/v2/a');
  const ofPath = { ...document, paths: { '/a': { servers: [{ url: `http://${host}/echo/path` }], get: details } } };
  expect(await at(ofPath)).toBe('/echo/path/a');
  expect(await at(document, { baseUrl: `http://${host}/echo/own/` })).toBe('/echo/own/a');
});

test('requireConfirmation asks a person first', async () => {
  const toolContext = contextOf();
  const asked: unknown[] = [];
  const tool = await toolOf(operation('/echo', {}), {
    requireConfirmation: ({ operation: { method, path }, args }) => asked.push([method, path, args]) > 0,
  });
  expect(await tool.runAsync({ args: {}, toolContext })).toEqual({
    error: expect.stringContaining('requires confirmation'),
  });
  expect(toolContext.actions.requestedToolConfirmations).toHaveProperty('c1');
  expect(asked).toEqual([['GET', '/echo', {}]]);
});
