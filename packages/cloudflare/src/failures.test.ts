import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { errorResponse } from '@eventloom/server/internal';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import type { CloudflareBindings } from './cloudflare-bindings.ts';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { AppStateUnreachableError, UserObjectError } from './errors.ts';
import { countedObjects } from './fixtures/counted-objects.ts';

const PATH = 'https://agents.example/apps/app/users/ann/sessions';

/** Returns the response of a Worker whose objects fail like this, and the errors it reports. */
async function answerTo(failure: unknown, method = 'GET'): Promise<{ response: Response; reported: unknown[] }> {
  const reported: unknown[] = [];
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    allowUnauthenticated: true,
    onError: (error) => reported.push(error),
  });
  const { bindings } = countedObjects(() => Promise.reject(failure));
  return { response: await handler.fetch(new Request(PATH, { method }), bindings), reported };
}

test.each([AppStateUnreachableError, UserObjectError])(
  'errors of this package are answered with 503 (%#)',
  (ErrorClass) => {
    expect(errorResponse(new ErrorClass('x')).status).toBe(503);
  },
);

test('a server without options is refused, and the error says what to write', () => {
  const create = (options?: unknown) => () => createCloudflareServer(options as never);
  expect(create()).toThrow(ConfigurationError);
  expect(create()).toThrow(
    "createCloudflareServer: expected an object of options, got nothing; write createCloudflareServer({ appNames: ['weather'], runners: ",
  );
  expect(create('weather')).toThrow('got a string');
});

test('a request whose object dies gets a coded answer, and the failure is reported', async () => {
  const failure = new TypeError('Durable Object reset because its code was updated.');
  const { response, reported } = await answerTo(failure);
  expect([response.status, response.headers.get('content-type')]).toEqual([503, 'application/json']);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(await response.json()).toEqual({ error: expect.any(String), code: 'USER_OBJECT' });
  expect(reported).toMatchObject([{ code: 'USER_OBJECT', cause: failure }]);
});

test('a request that is not idempotent gets no advice to repeat it', async () => {
  const { response } = await answerTo(new TypeError('Durable Object reset because its code was updated.'), 'POST');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, null]);
});

test('a request to an overloaded object gets no Retry-After', async () => {
  const { response } = await answerTo(
    Object.assign(new TypeError('overloaded'), { overloaded: true, retryable: true }),
  );
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, null]);
});

test('an invalid configuration is answered and reported once, and /livez still answers', async () => {
  const reported: unknown[] = [];
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    authenticate: () => jwtAuthenticate({ secret: undefined, issuer: 'issuer', audience: 'agents' }),
    onError: (error) => reported.push(error),
  });
  const { bindings } = countedObjects();
  const ask = (path: string) => handler.fetch(new Request(`https://agents.example${path}`), bindings);
  for (const path of ['/list-apps', '/readyz', '/apps/app/users/ann/sessions']) {
    const response = await ask(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([500, 'application/json']);
    expect(await response.json()).toEqual({ error: expect.stringMatching(/secret/), code: 'CONFIGURATION' });
  }
  for (const path of ['/health', '/livez']) expect(await (await ask(path)).json()).toEqual({ status: 'ok' });
  expect(reported).toEqual([expect.any(ConfigurationError)]);
});

test('a missing binding of the users is named, with what to write', async () => {
  const reported: unknown[] = [];
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    allowUnauthenticated: true,
    onError: (error) => reported.push(error),
  });
  const response = await handler.fetch(new Request(PATH), {} as CloudflareBindings);
  expect([response.status, await response.json()]).toMatchObject([
    500,
    { code: 'CONFIGURATION', error: expect.stringContaining('the binding EVENTLOOM_USERS is missing; write {') },
  ]);
  expect(reported).toEqual([expect.any(ConfigurationError)]);
});

test('an invalid configuration answers requests of the Worker itself, too', async () => {
  const server = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    authenticate: () => jwtAuthenticate({ secret: undefined, issuer: 'issuer', audience: 'agents' }),
    onError: () => undefined,
  });
  const request = new Request('http://localhost/apps/app/users/ann/sessions');
  const response = await server.fetchAs(countedObjects().bindings, { userId: 'ann' }, request);
  expect([response.status, await response.json()]).toMatchObject([500, { code: 'CONFIGURATION' }]);
});

test('a base path with which a route begins is reported once, and /livez still answers', async () => {
  const reported: unknown[] = [];
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    basePath: '/apps',
    allowUnauthenticated: true,
    onError: (error) => reported.push(error),
  });
  const { bindings } = countedObjects();
  const ask = (path: string) => handler.fetch(new Request(`https://agents.example${path}`), bindings);
  for (const path of ['/apps/list-apps', '/list-apps'])
    expect(await (await ask(path)).json()).toMatchObject({ code: 'CONFIGURATION' });
  expect(await (await ask('/livez')).json()).toEqual({ status: 'ok' });
  expect(reported).toEqual([expect.any(ConfigurationError)]);
});

test('an invalid configuration is the answer below the base path, too', async () => {
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    basePath: '/agents',
    authenticate: () => jwtAuthenticate({ secret: undefined, issuer: 'issuer', audience: 'agents' }),
    onError: () => undefined,
  });
  const request = new Request('https://agents.example/agents/list-apps');
  expect(await (await handler.fetch(request, countedObjects().bindings)).json()).toMatchObject({
    code: 'CONFIGURATION',
  });
});

test.each([
  ['origins', { origins: ['app.example'] }, /^createCloudflareServer: origins: /],
  ['a limit', { limits: { maxRuns: -1 } }, /^createCloudflareServer: limits: maxRuns: /],
  ['a live endpoint', { live: {} }, /^createCloudflareServer: live: /],
  ['a hook', { authenticate: () => 5 }, /^createCloudflareServer: authenticate: /],
  ['webhooks', { webhooks: () => 5 }, /^createCloudflareServer: webhooks: /],
  ['the secret of webhooks', { webhooks: () => ({ secret: '', origins: [] }) }, /^webhooks\.secret: /],
  ['protocols', { protocols: () => ({}) }, /^createCloudflareServer: protocols: /],
  ['a protocol', { protocols: [{}] }, /^protocols: expected a name/],
])(
  'an invalid value is found when the Worker starts, and the error does not name createServer: %s',
  async (_what, options, message) => {
    const { handler } = createCloudflareServer<CloudflareBindings>({
      appNames: ['app'],
      runners: () => [],
      onError: () => undefined,
      ...(options as object),
    });
    const response = await handler.fetch(new Request(PATH), countedObjects().bindings);
    const body = await response.json();
    expect(body).toEqual({ code: 'CONFIGURATION', error: expect.stringMatching(message) });
    expect(JSON.stringify(body)).not.toContain('createServer');
  },
);
