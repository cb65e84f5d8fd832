import { wireSchemas } from '@eventloom/core/wire';
import { expect, test } from 'vitest';
import { serveApp } from '../fixtures/server-scenario.ts';

interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { operationId: string; responses: object; requestBody?: unknown }>>;
  readonly components: { readonly schemas: Record<string, object> };
}

async function readDocument(): Promise<Document> {
  return (await (await serveApp().send('GET', '/openapi.json')).json()) as Document;
}

test('the document names every route', async () => {
  const { openapi, paths } = await readDocument();
  expect(openapi).toBe('3.1.0');
  const session = '/apps/{appName}/users/{userId}/sessions';
  const routes = Object.entries(paths).map(([path, methods]) => `${path} ${Object.keys(methods).join(' ')}`);
  expect(routes).toEqual([
    '/health get',
    '/livez get',
    '/readyz get',
    '/version get',
    '/list-apps get',
    `${session} post get`,
    `${session}/{sessionId} post get patch delete`,
    `${session}/{sessionId}/events get`,
    `${session}/{sessionId}/rewind post`,
    `${session}/{sessionId}/fork post`,
    `${session}/{sessionId}/artifacts get post`,
    `${session}/{sessionId}/artifacts/{filename} get delete`,
    `${session}/{sessionId}/artifacts/{filename}/versions get`,
    `${session}/{sessionId}/artifacts/{filename}/versions/{version} get`,
    '/run post',
    '/run_sse post',
    `${session}/{sessionId}/runs post`,
    `${session}/{sessionId}/runs/{invocationId} get delete`,
    '/apps/{appName}/users/{userId}/graphs get',
    `${session}/{sessionId}/runs/{invocationId}/graph get`,
    '/openapi.json get',
  ]);
});

test('every reference resolves', async () => {
  const document = await readDocument();
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)/g);
  const names = new Set(Array.from(references, ([, name]) => name));
  expect([...names]).toEqual(expect.arrayContaining(['ErrorBody', 'Event', 'RunBody', 'Session']));
  expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining([...names]));
});

test('operations have ids of their own', async () => {
  const { paths } = await readDocument();
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  expect(new Set(ids).size).toBe(ids.length);
});

test('the body of a run is described by the schema that checks it', async () => {
  const { components } = await readDocument();
  const { invocationId } = wireSchemas().RunBody.properties ?? {};
  expect(components.schemas['RunBody']).toMatchObject({ properties: { invocationId } });
  expect(components.schemas['RunBody']).toMatchObject({
    type: 'object',
    required: ['appName', 'userId', 'sessionId'],
    properties: { streaming: { type: 'boolean' }, newMessage: { $ref: '#/components/schemas/ContentInput' } },
  });
});
