import { ConfigurationError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { createServer, type EventloomServer } from './create-server.ts';
import type { ServerOptions } from './server-options.ts';
import { serveApp } from './fixtures/server-scenario.ts';

function createApp(options: Omit<ServerOptions, 'runners'> = {}): {
  server: EventloomServer;
  sessions: InMemorySessionService;
} {
  const { server, sessionService } = serveApp({ steps: ['done', 'done'], ...options });
  return { server, sessions: sessionService };
}

async function send(
  server: EventloomServer,
  path: string,
  init: RequestInit & { readonly host?: string } = {},
): Promise<{ readonly status: number; readonly code: unknown; readonly headers: Headers; readonly text: string }> {
  const { host = 'localhost:8000', ...rest } = init;
  const response = await server.fetch(new Request(`http://${host}${path}`, rest));
  const text = await response.text();
  const code = text.startsWith('{') ? (JSON.parse(text) as { code?: unknown }).code : undefined;
  return { status: response.status, code, headers: response.headers, text };
}

/** Uses the authorization header as the name of the user. */
const authenticate: ServerOptions['authenticate'] = (request) => {
  const userId = request.headers.get('authorization')?.replace('Bearer ', '');
  return userId ? { userId } : undefined;
};
const as = (user: string): { headers: Record<string, string> } => ({ headers: { authorization: `Bearer ${user}` } });
const run = (userId: string): string =>
  JSON.stringify({ appName: 'app', userId, sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });

describe('a server with authenticate', () => {
  test.each([
    '/list-apps',
    '/version',
    '/openapi.json',
    '/apps/app/users/ann/sessions',
    '/apps/app/users/ann/sessions/s/runs/e-1',
  ])('refuses an unauthenticated request at %s', async (path) => {
    const { server } = createApp({ authenticate });
    expect(await send(server, path)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  });

  test.each(['/health', '/livez', '/readyz'])('answers every request at %s', async (path) => {
    expect((await send(createApp({ authenticate }).server, path)).status).toBe(200);
  });

  test.each([
    ['GET', ''],
    ['POST', ''],
    ['POST', '/s'],
    ['GET', '/s'],
    ['PATCH', '/s'],
    ['DELETE', '/s'],
    ['GET', '/s/artifacts'],
    ['GET', '/s/artifacts/a.txt'],
    ['DELETE', '/s/artifacts/a.txt'],
    ['GET', '/s/artifacts/a.txt/versions'],
    ['GET', '/s/artifacts/a.txt/versions/0'],
    ['GET', '/s/runs/e-1'],
    ['DELETE', '/s/runs/e-1'],
  ])('refuses requests for another user: %s …/sessions%s', async (method, path) => {
    const { server, sessions } = createApp({ authenticate });
    await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const body = method === 'PATCH' ? '{"stateDelta":{}}' : null;
    const answer = await send(server, `/apps/app/users/ann/sessions${path}`, { method, body, ...as('bob') });
    expect(answer).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    const encoded = await send(server, `/apps/app/users/%61nn/sessions${path}`, { method, body, ...as('bob') });
    expect(encoded.status).toBe(403);
  });

  test.each(['/run', '/run_sse'])('refuses runs for another user: %s', async (path) => {
    const { server, sessions } = createApp({ authenticate });
    await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const foreign = await send(server, path, { method: 'POST', body: run('ann'), ...as('bob') });
    expect(foreign).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    expect((await send(server, path, { method: 'POST', body: run('ann'), ...as('ann') })).status).toBe(200);
  });

  test("does not let a user read another user's run under their own path", async () => {
    const { server, sessions } = createApp({ authenticate });
    for (const userId of ['ann', 'bob']) await sessions.createSession({ appName: 'app', userId, sessionId: 's' });
    const { headers } = await send(server, '/run', { method: 'POST', body: run('ann'), ...as('ann') });
    const id = headers.get('Eventloom-Invocation-Id');
    const path = `/apps/app/users/bob/sessions/s/runs/${id}`;
    expect(await send(server, path, as('bob'))).toMatchObject({ status: 404, code: 'RUN_NOT_FOUND' });
  });

  test.each([
    ['POST', '/apps/app/users/ann/sessions', { state: { 'app:a': 1 } }],
    ['POST', '/apps/app/users/ann/sessions/new', { 'app:a': 1 }],
    ['PATCH', '/apps/app/users/ann/sessions/s', { stateDelta: { 'app:a': 1 } }],
    ['POST', '/run', { ...(JSON.parse(run('ann')) as object), stateDelta: { 'app:a': 1 } }],
    ['POST', '/run_sse', { ...(JSON.parse(run('ann')) as object), stateDelta: { 'app:a': 1 } }],
  ])('lets a user write app state only if the hook allows it: %s %s %j', async (method, path, body) => {
    for (const mayWriteAppState of [undefined, true]) {
      const { server, sessions } = createApp({ authenticate: () => ({ userId: 'ann', mayWriteAppState }) });
      await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
      const answer = await send(server, path, { method, body: JSON.stringify(body) });
      expect([answer.status, answer.code]).toEqual(mayWriteAppState ? [200, undefined] : [403, 'FORBIDDEN']);
      if (!mayWriteAppState) expect(answer.text).toContain('shared by all users of the app');
    }
  });

  test('lets users write their user state', async () => {
    const { server } = createApp({ authenticate });
    const body = '{"state":{"user:a":1,"b":2}}';
    const answer = await send(server, '/apps/app/users/ann/sessions', { method: 'POST', body, ...as('ann') });
    expect(answer.status).toBe(200);
  });

  test.each([null, undefined])('refuses requests for which the hook returns %j', async (user) => {
    const { server } = createApp({ authenticate: () => user });
    expect(await send(server, '/list-apps')).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  });

  test.each([true, 'ann', {}, { userId: '' }, { userId: 5 }, { user: 'ann' }, false])(
    'refuses every request if the hook returns %j, which is not a user',
    async (user) => {
      const authenticate = (): never => user as never;
      const { server } = createApp({ authenticate, onError: () => undefined });
      expect(await send(server, '/list-apps')).toMatchObject({ status: 500, code: 'CONFIGURATION' });
    },
  );

  test('refuses a request whose hook does not settle within ten seconds', async () => {
    const platform = fixedPlatform();
    const called = Promise.withResolvers<void>();
    const authenticate = (): Promise<never> => {
      called.resolve();
      return new Promise(() => undefined);
    };
    const { server } = createApp({ authenticate, platform, onError: () => undefined });
    const answered = send(server, '/list-apps');
    await called.promise;
    platform.advance(10_000);
    expect(await answered).toMatchObject({ status: 500, code: 'CONFIGURATION' });
  });

  test('answers a request of the program as one of the user that it names, and of no other', async () => {
    const { server, sessions } = createApp({ authenticate });
    await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const ask = async (user: { userId: string }, path: string, body: object) => {
      const request = new Request(`http://localhost${path}`, { method: 'POST', body: JSON.stringify(body) });
      const response = await server.fetchAs(user, request);
      return [response.status, await response.json()];
    };
    const newMessage = { parts: [{ text: 'Report.' }] };
    const runs = '/apps/app/users/ann/sessions/s/runs';
    const started = { state: expect.any(String) as string, invocationId: expect.any(String) as string };
    expect(await ask({ userId: 'ann' }, runs, { requestId: 'r1', newMessage })).toMatchObject([202, started]);
    expect(await ask({ userId: 'bob' }, runs, { requestId: 'r2', newMessage })).toMatchObject([403, {}]);
    expect((await send(server, '/list-apps')).status).toBe(401);
    await server.drain(1000);
  });

  test.each([undefined, 'ann', { userId: '' }])('refuses a request of the program as %j', (user) => {
    const { server } = createApp({ authenticate });
    expect(() => server.fetchAs(user as never, new Request('http://localhost/list-apps'))).toThrow(
      "fetchAs: expected a user and a Request; write fetchAs({ userId: 'ada' }, new Request(",
    );
  });

  test('answers under any host name', async () => {
    const { server } = createApp({ authenticate });
    expect((await send(server, '/list-apps', { host: 'agents.example', ...as('ann') })).status).toBe(200);
  });
});

describe('a server without authenticate', () => {
  test.each(['localhost', 'localhost:8000', '127.0.0.1:8000', '127.0.0.2', '[::1]:8000', 'app.localhost'])(
    'answers a request for the host name %s',
    async (host) => {
      expect((await send(createApp().server, '/list-apps', { host })).status).toBe(200);
    },
  );

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '192.168.0.7', '10.0.0.1:8000'])(
    'refuses a request for the host name %s',
    async (host) => {
      expect(await send(createApp().server, '/list-apps', { host })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    },
  );

  test('answers under any host name with allowUnauthenticated', async () => {
    const { server } = createApp({ allowUnauthenticated: true });
    expect((await send(server, '/list-apps', { host: 'agents.example' })).status).toBe(200);
  });

  test.each(['https://evil.example', 'http://localhost:9999', 'null'])(
    'refuses a request from a page of %s',
    async (origin) => {
      const { server, sessions } = createApp();
      await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
      const answer = await send(server, '/run', { method: 'POST', body: run('ann'), headers: { origin } });
      expect(answer).toMatchObject({ status: 403, code: 'FORBIDDEN' });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  test.each(['/list-apps', '/', '/health', '/openapi.json'])(
    'refuses a cross-site request for %s without an Origin',
    async (path) => {
      const headers = { 'sec-fetch-site': 'cross-site' };
      expect(await send(createApp().server, path, { headers })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
      const own = { headers: { ...headers, origin: 'https://app.example' } };
      expect((await send(createApp({ origins: ['https://app.example'] }).server, path, own)).status).toBe(200);
      expect((await send(createApp({ origins: ['https://app.example'] }).server, path, { headers })).status).toBe(403);
      expect((await send(createApp({ origins: ['*'] }).server, path, { headers })).status).toBe(200);
    },
  );

  test.each(['same-origin', 'same-site', 'none'])('answers a request from Sec-Fetch-Site: %s', async (site) => {
    const answer = await send(createApp().server, '/list-apps', { headers: { 'sec-fetch-site': site } });
    expect(answer.status).toBe(200);
  });

  test('answers pages of its own origin', async () => {
    const answer = await send(createApp().server, '/list-apps', { headers: { origin: 'http://localhost:8000' } });
    expect(answer.status).toBe(200);
  });
});

describe('origins', () => {
  const origins = ['https://app.example'];

  test('in the list may send requests and read the invocation id', async () => {
    const { server, sessions } = createApp({ origins });
    await sessions.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const headers = { origin: 'https://app.example' };
    const answer = await send(server, '/run', { method: 'POST', body: run('ann'), headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const exposed = answer.headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).toEqual(['Eventloom-Invocation-Id', 'Eventloom-Next-Cursor', 'Retry-After', 'Location']);
  });

  test.each([
    [origins, 'true'],
    [['*'], null],
    [['*', ...origins], null],
  ])('%j may send cookies: %j', async (listed, credentials) => {
    const headers = { origin: 'https://app.example' };
    const answer = await send(createApp({ origins: listed }).server, '/list-apps', { headers });
    expect([answer.status, answer.headers.get('access-control-allow-credentials')]).toEqual([200, credentials]);
  });

  test('in the list get preflight answers', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'PATCH' };
    const answer = await send(createApp({ origins }).server, '/run', { method: 'OPTIONS', headers });
    expect([answer.status, answer.headers.get('access-control-allow-methods')]).toEqual([204, 'GET,POST,PATCH,DELETE']);
  });

  test('in the list can read errors', async () => {
    const headers = { origin: 'https://app.example' };
    const answer = await send(createApp({ origins }).server, '/apps/nope/users/u/sessions/s', { headers });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([404, 'https://app.example']);
  });

  test('not in the list are refused', async () => {
    const headers = { origin: 'https://evil.example' };
    expect((await send(createApp({ origins }).server, '/list-apps', { headers })).status).toBe(403);
  });
});

describe('options', () => {
  test.each([
    ['an option that does not exist', { authentication: () => undefined }],
    ['a hook that is not a function', { authenticate: 'secret' }],
    ['no hook at all', { authenticate: null }],
    ['an origin with a path', { origins: ['https://app.example/'] }],
    ['an invalid relay', { relay: {} }],
    ['a limit that does not exist', { limits: { maxRunBytes: 1 } }],
    ['a limit below 0', { limits: { maxRuns: -1 } }],
  ])('are refused with %s', (_what, options) => {
    expect(() => createApp(options as Omit<ServerOptions, 'runners'>)).toThrow(ConfigurationError);
  });

  test('with two apps of the same name are refused', () => {
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel([]) });
    const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
    expect(() => createServer({ runners: [runner, runner] })).toThrow('two runners have the appName "app"');
  });
});

test('a hook that throws is a server failure, and its message is not sent', async () => {
  const failures: unknown[] = [];
  const failure = new TypeError('the secret is not set');
  const { server } = createApp({
    authenticate: () => {
      throw failure;
    },
    onError: (error) => failures.push(error),
  });
  const answer = await send(server, '/list-apps');
  expect([answer.status, answer.code, failures]).toEqual([500, 'INTERNAL', [failure]]);
  expect(answer.text).not.toContain('secret');
});

describe('the root', () => {
  test('names the server and the address of its OpenAPI document', async () => {
    const { text } = await send(createApp({ version: { version: '9' } }).server, '/');
    expect(JSON.parse(text)).toEqual({ name: 'eventloom', version: '9', routes: '/openapi.json' });
  });

  test('has no version without authentication', async () => {
    const { text } = await send(createApp({ authenticate }).server, '/', { host: 'agents.example' });
    expect(JSON.parse(text)).toEqual({ name: 'eventloom', routes: '/openapi.json' });
  });

  test('can be replaced by a page of the application', async () => {
    const { server } = createApp();
    server.app.get('/', (context) => context.text('a page'));
    expect((await send(server, '/')).text).toBe('a page');
  });

  test('can have another app below a path, which gets the rest of the path and is guarded', async () => {
    const { server } = createApp();
    server.app.mount('/admin', (request) => new Response(new URL(request.url).pathname));
    expect((await send(server, '/admin/users')).text).toBe('/users');
    expect(await send(server, '/admin/users', { host: 'rebound.example' })).toMatchObject({ code: 'FORBIDDEN' });
  });

  test('answers requests to an added route with the response of its handler', async () => {
    const { server } = createApp();
    server.app.get('/moved', ({ redirect }) => redirect('/new'));
    server.app.post('/echo/:name', async ({ req, json }) =>
      json({ name: req.param('name'), tag: req.query('tag'), all: req.queries('tag'), body: await req.json() }, 201),
    );
    expect((await send(server, '/moved')).status).toBe(302);
    const { status, text } = await send(server, '/echo/ann?tag=a&tag=b', { method: 'POST', body: '{"x":1}' });
    expect([status, JSON.parse(text)]).toEqual([201, { name: 'ann', tag: 'a', all: ['a', 'b'], body: { x: 1 } }]);
  });

  test('refuses other origins, other host names and other methods', async () => {
    const { server } = createApp();
    expect(await send(server, '/', { host: 'rebound.example' })).toMatchObject({ code: 'FORBIDDEN' });
    expect(await send(server, '/', { headers: { origin: 'https://a.example' } })).toMatchObject({ code: 'FORBIDDEN' });
    expect(await send(server, '/', { method: 'POST' })).toMatchObject({ code: 'ROUTE_NOT_FOUND' });
  });
});

test('the error for a missing session says how to create it', async () => {
  const { text } = await send(createApp().server, '/run', { method: 'POST', body: run('ann') });
  expect(JSON.parse(text)).toMatchObject({
    code: 'SESSION_NOT_FOUND',
    error: expect.stringContaining('POST /apps/app/users/ann/sessions/s'),
  });
});
