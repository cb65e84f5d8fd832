import { InMemoryArtifactService } from '@eventloom/artifacts';
import { expect, test } from 'vitest';
import { contextOf, type Echo, echo, operation, toolOf } from './fixtures/call-tool.ts';

const bodyOf = (mediaType: string, media: object) =>
  operation('/echo', { requestBody: { required: true, content: { [mediaType]: media } } });
const FORM = 'application/x-www-form-urlencoded';
const FILE = { type: 'string', format: 'binary' };

/** Returns the parts of a multipart body. */
function partsOf({ headers, body }: Echo): string[] {
  const boundary = /boundary=(\S+)$/.exec(headers['content-type'] ?? '')?.[1] ?? '';
  return body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => part.slice(2, -2));
}

test('a form is encoded like a query', async () => {
  const schema = { type: 'object' };
  const received = await echo(bodyOf(FORM, { schema }), {
    body: { name: 'Ann & Bo', tags: ['a', 'b'], address: { city: 'X' }, none: null, age: 5 },
  });
  expect(received.headers['content-type']).toBe(FORM);
  expect(received.body).toBe('name=Ann%20%26%20Bo&tags=a&tags=b&address=%7B%22city%22%3A%22X%22%7D&age=5');
});

test('properties of a form have their own styles and types', async () => {
  const encoding = {
    price: { style: 'deepObject', explode: true },
    tags: { explode: false },
    data: { contentType: 'application/json' },
    url: { style: 'form', allowReserved: true },
  };
  const body = { price: { from: 1, to: { x: 2 } }, tags: ['a', 'b'], data: ['c'], url: 'https://a.example/?b' };
  expect((await echo(bodyOf(FORM, { encoding }), { body })).body).toBe(
    'price%5Bfrom%5D=1&price%5Bto%5D%5Bx%5D=2&tags=a,b&data=%5B%22c%22%5D&url=https://a.example/?b',
  );
});

test('a form must be an object', async () => {
  const tool = await toolOf(bodyOf(FORM, {}));
  expect(await tool.runAsync({ args: { body: ['a'] }, toolContext: contextOf() })).toEqual({
    error: 'the body is a form: expected an object of its fields, got a list',
  });
});

test('a multipart form has a part for each field, item and file', async () => {
  const schema = {
    type: 'object',
    properties: { note: { type: 'string' }, tags: { type: 'array' }, meta: { type: 'object' }, file: FILE },
  };
  const encoding = { meta: { contentType: 'application/vnd.meta+json' } };
  const received = await echo(bodyOf('multipart/form-data', { schema, encoding }), {
    body: { note: 'hi', tags: ['a', 1], meta: { x: 1 }, file: { text: 'abc', filename: 'a"b\n.txt' }, other: null },
  });
  expect(received.headers['content-type']).toMatch(/^multipart\/form-data; boundary=eventloom-[\w-]+$/);
  expect(partsOf(received)).toEqual([
    'Content-Disposition: form-data; name="note"\r\n\r\nhi',
    'Content-Disposition: form-data; name="tags"\r\n\r\na',
    'Content-Disposition: form-data; name="tags"\r\n\r\n1',
    'Content-Disposition: form-data; name="meta"\r\nContent-Type: application/vnd.meta+json\r\n\r\n{"x":1}',
    'Content-Disposition: form-data; name="file"; filename="a%22b%0A.txt"\r\nContent-Type: text/plain\r\n\r\nabc',
  ]);
});

test('a file is an artifact of the session, text or base64', async () => {
  const artifactService = new InMemoryArtifactService();
  const toolContext = contextOf({ artifactService });
  await toolContext.saveArtifact('logo.png', { inlineData: { mimeType: 'image/png', data: 'iVBORw==' } });
  await toolContext.saveArtifact('user:notes/a.md', { text: '# A' });
  await toolContext.saveArtifact('far', { fileData: { fileUri: 'gs://a/b' } });
  const document = {
    ...bodyOf('multipart/form-data', { schema: { allOf: [{ $ref: '#/components/schemas/Upload' }] } }),
    components: { schemas: { Upload: { type: 'object', properties: { files: { type: 'array', items: FILE } } } } },
  };
  const tool = await toolOf(document);
  const upload = async (...files: object[]) =>
    (await tool.runAsync({ args: { body: { files } }, toolContext })) as { body: Echo; error?: string };
  const { body } = await upload({ artifact: 'logo.png' }, { artifact: 'user:notes/a.md' }, { base64: 'AAE=' });
  expect(partsOf(body)).toEqual([
    'Content-Disposition: form-data; name="files"; filename="logo.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG',
    'Content-Disposition: form-data; name="files"; filename="a.md"\r\nContent-Type: text/plain\r\n\r\n# A',
    'Content-Disposition: form-data; name="files"; filename="files"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\x01',
  ]);
  const faults = [
    [{ artifact: 'none' }, 'files: there is no artifact "none"'],
    [{ artifact: 'far' }, 'files: the artifact "far" is only an address of a file; give one of its text and base64'],
    [{ base64: '%' }, 'files: base64: expected base64 text; write a text that is not base64 as text'],
    [{ text: 'a', base64: 'YQ==' }, 'files: expected a file; write either artifact, text or base64'],
    [{}, 'files: expected a file; write either artifact, text or base64'],
  ] as const;
  for (const [file, error] of faults) expect(await upload(file)).toEqual({ error });
});

test('a file is declared as an object with the fields artifact, text and base64', async () => {
  const schema = {
    type: 'object',
    required: ['file'],
    properties: { file: { ...FILE, description: 'A picture.' }, more: { type: 'array', items: FILE }, n: {} },
  };
  const tool = await toolOf(bodyOf('multipart/form-data', { schema }));
  const fields = { artifact: expect.anything(), text: expect.anything(), base64: expect.anything() };
  expect(tool._getDeclaration().parametersJsonSchema).toMatchObject({
    properties: {
      body: {
        required: ['file'],
        properties: {
          file: { type: 'object', description: 'A picture.', properties: fields },
          more: { type: 'array', items: { type: 'object', properties: fields } },
          n: {},
        },
      },
    },
  });
});

test('a schema of OpenAPI 3.1 with a media type and no encoding is a file', async () => {
  const properties = {
    file: { contentMediaType: 'image/png' },
    text: { type: 'string', contentMediaType: 'image/png', contentEncoding: 'base64' },
  };
  const specDict = { ...bodyOf('multipart/form-data', { schema: { properties } }), openapi: '3.1.0' };
  expect((await toolOf(specDict))._getDeclaration().parametersJsonSchema).toMatchObject({
    properties: { body: { properties: { file: { type: 'object' }, text: { type: 'string' } } } },
  });
});

test('text of any type is sent unchanged', async () => {
  const csv = await echo(bodyOf('text/csv', { schema: { type: 'string' } }), { body: 'a,b\r\n' });
  expect([csv.headers['content-type'], csv.body]).toEqual(['text/csv; charset=utf-8', 'a,b\r\n']);
  const xml = await echo(bodyOf('application/xml', { schema: { type: 'object' } }), { body: '<a/>' });
  expect([xml.headers['content-type'], xml.body]).toEqual(['application/xml', '<a/>']);
});

test('a binary body is a file', async () => {
  const png = await echo(bodyOf('image/png', {}), { body: { base64: 'iVBORw==' } });
  expect([png.headers['content-type'], png.body]).toEqual(['image/png', '\x89PNG']);
  const any = await echo(bodyOf('image/*', {}), { body: { base64: 'AA==', mimeType: 'image/webp' } });
  expect(any.headers['content-type']).toBe('image/webp');
});

test('a range of types is JSON, and JSON is preferred', async () => {
  expect((await echo(bodyOf('*/*', {}), { body: 1 })).headers['content-type']).toBe('application/json');
  const content = { 'multipart/form-data': {}, [FORM]: {}, 'application/json': {} };
  const { headers } = await echo(operation('/echo', { requestBody: { content } }), { body: {} });
  expect(headers['content-type']).toBe('application/json');
});
