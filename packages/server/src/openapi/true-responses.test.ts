import { InMemoryArtifactService } from '@eventloom/artifacts';
import { type SessionKey, StorageError } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { EventloomServer } from '../create-server.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers?: object; readonly content?: Content }>
  >;
}
type Content = Readonly<Record<string, { readonly schema: object }>>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

function createApp(): EventloomServer {
  const tool = new FunctionTool({
    name: 'set_mood',
    description: 'Sets the mood.',
    execute: (_args, context) => context.state.set('mood', 'good'),
  });
  return serveApp({ steps: [{ calls: [{ name: 'set_mood' }] }, 'done'], agent: { tools: [tool] } }).server;
}

async function readDocument(server: EventloomServer = createApp()): Promise<Document> {
  return (await (await server.fetch(new Request('http://localhost/openapi.json'))).json()) as Document;
}

/** Returns a check for values against a schema of the document and the schemas that it refers to. */
function checkerOf({ components }: Document, schema: object | undefined): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: components.schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')));
}

const SESSIONS = '/apps/{appName}/users/{userId}/sessions';
const SESSION = `${SESSIONS}/{sessionId}`;
const RUN = { appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
const ADDRESS: Readonly<Record<string, string>> = {
  appName: 'app',
  userId: 'ann',
  sessionId: 's',
  filename: 'a.txt',
  invocationId: 'r-1',
};
const EVENTS = [
  { author: 'user', content: { parts: [{ text: 'hi' }] } },
  { author: 'agent', actions: {}, timestamp: 1 },
];

test('answers and accepted bodies match the schemas of the document', async () => {
  const server = createApp();
  const document = await readDocument(server);
  const check = async (
    status: number,
    method: string,
    path: string,
    { body, query = '' }: { body?: object; query?: string } = {},
  ): Promise<void> => {
    const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ADDRESS[name] ?? name);
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await server.fetch(new Request(`http://localhost${address}${query}`, init));
    const json: unknown = await response.json();
    expect([method, address, response.status]).toEqual([method, address, status]);
    const operation = document.paths[path]?.[method.toLowerCase()];
    const schema = operation?.responses[status]?.content?.['application/json']?.schema;
    expect(schema, `${method} ${path} ${status} is in the document`).toBeDefined();
    expect(checkerOf(document, schema).safeParse(json)).toMatchObject({ success: true });
    if (status !== 200 || body === undefined) return;
    const taken = operation?.requestBody?.content['application/json']?.schema;
    expect(checkerOf(document, taken).safeParse(body)).toMatchObject({ success: true });
  };
  await check(200, 'GET', '/health');
  await check(200, 'GET', '/version');
  await check(200, 'GET', '/list-apps');
  await check(200, 'GET', '/list-apps', { query: '?detailed=true' });
  await check(200, 'POST', SESSIONS, { body: { sessionId: 's', state: { a: 1 }, events: EVENTS } });
  await check(409, 'POST', SESSION);
  await check(400, 'POST', SESSIONS, { body: { events: [{}] } });
  await check(200, 'POST', '/run', { body: RUN });
  await check(200, 'GET', SESSION);
  await check(200, 'GET', SESSIONS);
  await check(400, 'GET', SESSIONS, { query: '?limit=x' });
  await check(200, 'PATCH', SESSION, { body: { stateDelta: { a: 2 } } });
  await check(404, 'GET', `${SESSION}/artifacts/{filename}`);
  await check(200, 'GET', `${SESSION}/artifacts`);
  await check(200, 'DELETE', SESSION);
  await check(404, 'GET', SESSION);
  await check(404, 'POST', '/run', { body: RUN });
  await check(400, 'POST', '/run', { body: { ...RUN, invocationId: 'e-1' } });
  await server.drain(0);
  await check(503, 'GET', '/readyz');
  await check(503, 'POST', '/run', { body: RUN });
});

test('the headers, the statuses and the codes of the routes of runs are in the document', async () => {
  const server = createApp();
  const { paths } = await readDocument(server);
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ADDRESS[name] ?? name);
    const response = await server.fetch(new Request(`http://localhost${address}`, { method, body: text, headers }));
    const described = paths[path]?.[method.toLowerCase()]?.responses[response.status];
    expect(described, `${method} ${path} ${response.status} is in the document`).toBeDefined();
    if (response.status >= 400) {
      const { code } = (await response.json()) as { code: string };
      expect(described?.description).toMatch(new RegExp(`Codes: .*\\b${code}\\b`));
    } else {
      await response.text();
      for (const name of Object.keys(described?.headers ?? {})) expect(response.headers.has(name), name).toBe(true);
    }
    return [response.status, Object.keys(described?.headers ?? {})];
  };
  const { newMessage } = RUN;
  const headers = ['Location', 'Eventloom-Invocation-Id'];
  expect(await send('POST', `${SESSION}/runs`, { newMessage })).toEqual([404, []]);
  await server.fetch(new Request('http://localhost/apps/app/users/ann/sessions/s', { method: 'POST' }));
  expect(await send('POST', `${SESSION}/runs`, { newMessage, requestId: 'r-1' })).toEqual([202, headers]);
  const again = { newMessage, requestId: 'r-1', ifKnown: 'reject' };
  expect(await send('POST', `${SESSION}/runs`, again)).toEqual([409, ['Retry-After']]);
  const other = { newMessage: { parts: [{ text: 'other' }] }, requestId: 'r-1' };
  expect(await send('POST', `${SESSION}/runs`, other)).toEqual([422, []]);
  expect(await send('POST', `${SESSION}/runs`, { newMessage: { parts: [] } })).toEqual([400, []]);
  expect(await send('GET', `${SESSION}/runs/{invocationId}`)).toEqual([200, ['Eventloom-Invocation-Id']]);
  expect((await send('GET', `${SESSION}/runs/{invocationId}`, undefined, { 'last-event-id': 'x' }))[0]).toBe(400);
  expect((await send('DELETE', `${SESSION}/runs/{invocationId}`))[0]).toBe(200);
  await server.drain(0);
  expect((await send('POST', `${SESSION}/runs`, { newMessage }))[0]).toBe(503);
});

test('each status of a route that finds the storage unavailable is in the document', async () => {
  let isDown = false;
  const sessionService = new Proxy(new InMemorySessionService(), {
    get(service, name) {
      const member: unknown = Reflect.get(service, name, service);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        if (isDown) throw new StorageError('the storage is unavailable');
        return Reflect.apply(member, service, args);
      };
    },
  });
  const { server } = serveApp({ sessionService, runner: { artifactService: new InMemoryArtifactService() } });
  const { paths } = await readDocument(server);
  await sessionService.createSession(ADDRESS as unknown as SessionKey);
  isDown = true;
  const unavailable: string[] = [];
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      // Some of these routes try again for seconds.
      if (method === 'post') continue;
      const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ADDRESS[name] ?? '0');
      const body = method === 'patch' ? JSON.stringify({ stateDelta: { a: 1 } }) : null;
      const { status } = await server.fetch(
        new Request(`http://localhost${address}`, { method: method.toUpperCase(), body }),
      );
      expect(responses, `${method} ${path} ${status} is in the document`).toHaveProperty(String(status));
      if (status === 503) unavailable.push(`${method} ${path}`);
    }
  }
  expect(unavailable).toEqual(expect.arrayContaining([`get ${SESSIONS}`, `patch ${SESSION}`]));
  expect(unavailable.length).toBeGreaterThan(10);
});

test('schemas of requests accept more than schemas of answers, and both refuse invalid values', async () => {
  const document = await readDocument();
  const answered = checkerOf(document, { $ref: '#/components/schemas/Event' });
  const given = checkerOf(document, { $ref: '#/components/schemas/EventInput' });
  const [event] = EVENTS;
  expect([given.safeParse(event).success, answered.safeParse(event).success]).toEqual([true, false]);
  expect(given.safeParse({ content: {} }).success).toBe(false);
});

test('a route documents only statuses that it can have', async () => {
  const { paths } = await readDocument();
  const statuses = (path: string, method: string): string[] => Object.keys(paths[path]?.[method]?.responses ?? {});
  expect(statuses('/health', 'get')).toEqual(['200', '400', '403', '405', '500']);
  expect(statuses('/list-apps', 'get')).toContain('401');
  expect(statuses(`${SESSION}/runs/{invocationId}`, 'get')).toContain('204');
  expect(statuses('/run', 'post')).toEqual(expect.arrayContaining(['405', '413', '500']));
});

test('numeric query parameters are documented as numbers', async () => {
  const { paths } = await readDocument();
  const typeOf = (path: string, name: string): unknown =>
    paths[path]?.['get']?.parameters?.find((parameter) => parameter.name === name)?.schema;
  expect(typeOf(SESSIONS, 'limit')).toEqual({ type: 'integer', minimum: 0 });
  expect(typeOf(SESSIONS, 'cursor')).toEqual({ type: 'string' });
  expect(typeOf(SESSION, 'numRecentEvents')).toEqual({ type: 'integer', minimum: 0 });
  expect(typeOf(SESSION, 'afterTimestamp')).toEqual({ type: 'number', minimum: 0 });
});
