import { ConfigurationError } from '@eventloom/core';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import type { AuthenticatedUser } from '@eventloom/server';
import type { CloudflareBindings } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { createCloudflareServer } from './create-cloudflare-server.ts';
import { countedObjects } from './fixtures/counted-objects.ts';

const SECRET = 'a secret of the tests, which is long enough';
const SESSIONS = '/apps/app/users/ann/sessions';
const LIMIT = 1000;

/** A Worker over the apps `app` and `shop` whose objects only report that they were called. */
function createWorker(options: Partial<CloudflareServerOptions<CloudflareBindings>> = {}) {
  const { users, bindings } = countedObjects();
  const { handler, fetchAs } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app', 'shop'],
    runners: () => {
      throw new ConfigurationError('the Worker itself makes no runners');
    },
    limits: { maxBodyBytes: LIMIT },
    onError: () => undefined,
    ...options,
  });
  const ask = async (path: string, init: RequestInit = {}, host = 'agents.example') => {
    const response = await handler.fetch(new Request(`https://${host}${path}`, init), bindings);
    const text = await response.text();
    const code = text.startsWith('{') ? (JSON.parse(text) as { code?: unknown }).code : undefined;
    return { status: response.status, code, text, headers: response.headers };
  };
  const askAs = async (user: AuthenticatedUser, path: string) =>
    (await fetchAs(bindings, user, new Request(`http://localhost${path}`))).status;
  return { ask, askAs, users };
}

const runOf = (appName: string, userId: string): RequestInit => {
  const newMessage = { parts: [{ text: 'x' }] };
  return { method: 'POST', body: JSON.stringify({ appName, userId, sessionId: 's', newMessage }) };
};
/** The header names the user. */
const asNamed = () => (request: Request) => {
  const userId = request.headers.get('authorization');
  return userId === null ? undefined : { userId };
};
const as = (authorization: string, init: RequestInit = {}): RequestInit => ({ ...init, headers: { authorization } });

test('without authenticate a deployed Worker answers only probes, unless allowUnauthenticated is set', async () => {
  const closed = createWorker();
  for (const path of ['/health', '/livez', '/readyz']) expect((await closed.ask(path)).status).toBe(200);
  for (const path of ['/list-apps', '/openapi.json', '/health/', '/x', SESSIONS]) {
    expect(await closed.ask(path)).toMatchObject({ status: 403, code: 'FORBIDDEN' });
  }
  expect((await closed.ask('/run', runOf('app', 'ann'))).status).toBe(403);
  expect(closed.users).toEqual([]);
  expect((await closed.ask(SESSIONS, {}, 'localhost')).text).toBe('handed on');
  expect((await createWorker({ allowUnauthenticated: true }).ask(SESSIONS)).text).toBe('handed on');
});

test('a Worker answers its own requests as those of the user that it names, and of no other', async () => {
  const { ask, askAs, users } = createWorker({ authenticate: asNamed });
  expect(await askAs({ userId: 'ann' }, SESSIONS)).toBe(200);
  expect(users).toEqual(['["app","ann"]']);
  expect(await askAs({ userId: 'bob' }, SESSIONS)).toBe(403);
  expect((await ask(SESSIONS)).status).toBe(401);
  await expect(askAs({ userId: '' }, SESSIONS)).rejects.toThrow(ConfigurationError);
});

test('a Worker answers below its base path', async () => {
  const { ask, users } = createWorker({ allowUnauthenticated: true, basePath: '/agents' });
  expect((await ask(`/agents${SESSIONS}`)).text).toBe('handed on');
  expect((await ask('/agents/run', runOf('app', 'ann'))).text).toBe('handed on');
  expect((await ask('/agents/list-apps')).text).toBe('["app","shop"]');
  expect(await ask('/other/list-apps')).toMatchObject({ status: 404, code: 'ROUTE_NOT_FOUND' });
  expect(users).toEqual(['["app","ann"]', '["app","ann"]']);
});

test('a token gives access to the object of its user only', async () => {
  const authenticate = () => jwtAuthenticate({ secret: SECRET, issuer: 'issuer', audience: 'agents' });
  const { ask, users } = createWorker({ authenticate });
  const token = new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setSubject('ann').setExpirationTime('1h');
  const jwt = await token.setIssuer('issuer').setAudience('agents').sign(new TextEncoder().encode(SECRET));
  const bearer = `Bearer ${jwt}`;
  expect((await ask(SESSIONS, as(bearer))).text).toBe('handed on');
  expect((await ask('/run', as(bearer, runOf('app', 'ann')))).text).toBe('handed on');
  expect(await ask('/apps/app/users/bob/sessions', as(bearer))).toMatchObject({ status: 403, code: 'FORBIDDEN' });
  expect(await ask('/run', as(bearer, runOf('app', 'bob')))).toMatchObject({ status: 403, code: 'FORBIDDEN' });
  expect(await ask(SESSIONS)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  expect(users).toEqual(['["app","ann"]', '["app","ann"]']);
});

test.each<[string, string, RequestInit, number, string]>([
  ['of an app that there is not', '/apps/other/users/ann/sessions', {}, 404, 'APP_NOT_FOUND'],
  ['of a run of such an app', '/run', runOf('other', 'ann'), 404, 'APP_NOT_FOUND'],
  ['of a user without a name', '/apps/app/users/%20/sessions', {}, 400, 'INVALID_REQUEST'],
  ['of a name that is too long', `/apps/app/users/${'ä'.repeat(129)}/sessions`, {}, 400, 'INVALID_REQUEST'],
  ['of a run of such a name', '/run', runOf('app', 'a'.repeat(257)), 400, 'INVALID_REQUEST'],
  ['of a session without a name', `${SESSIONS}/%20`, {}, 400, 'INVALID_REQUEST'],
  ['that is not JSON', '/run_sse', { method: 'POST', body: '{' }, 400, 'INVALID_REQUEST'],
  [
    'with a body that is too large',
    `${SESSIONS}/s`,
    { method: 'POST', body: 'x'.repeat(LIMIT + 1) },
    413,
    'BODY_TOO_LARGE',
  ],
  ['with another method', `${SESSIONS}/s`, { method: 'PUT' }, 405, 'METHOD_NOT_ALLOWED'],
  ['with a slash at its end', `${SESSIONS}/s/`, {}, 404, 'ROUTE_NOT_FOUND'],
  ['of a run with a slash', '/run/', runOf('app', 'ann'), 404, 'ROUTE_NOT_FOUND'],
])('no object receives a request %s', async (_what, path, init, status, code) => {
  const { ask, users } = createWorker({ allowUnauthenticated: true });
  expect(await ask(path, init)).toMatchObject({ status, code });
  expect(users).toEqual([]);
});

test('user ids up to the maximum length each have their own object', async () => {
  const { ask, users } = createWorker({ allowUnauthenticated: true });
  const long = 'ä'.repeat(128);
  await ask(`/apps/app/users/${long}/sessions`);
  await ask(`/apps/shop/users/${long}/sessions`);
  await ask('/run', runOf('shop', 'ann'));
  expect(users).toEqual([JSON.stringify(['app', long]), JSON.stringify(['shop', long]), '["shop","ann"]']);
});

test('identity headers of the client are not forwarded', async () => {
  const forwarded: (string | null)[] = [];
  const { bindings } = countedObjects(({ headers }) => {
    forwarded.push(headers.get('eventloom-forwarded'), headers.get('origin'));
    return Promise.resolve(new Response());
  });
  const { handler } = createCloudflareServer<CloudflareBindings>({
    appNames: ['app'],
    runners: () => [],
    authenticate: asNamed,
  });
  const headers = { authorization: 'ann', 'eventloom-forwarded': 'forged', origin: 'https://agents.example' };
  await handler.fetch(new Request(`https://agents.example${SESSIONS}`, { headers }), bindings);
  const said = encodeURIComponent(JSON.stringify({ appName: 'app', user: { userId: 'ann' } }));
  expect(forwarded).toEqual([said, null]);
});

test.each([SESSIONS, `${SESSIONS}/s/runs/e-1`, '/list-apps'])(
  'authenticate runs once per request, also for refused requests: %s',
  async (path) => {
    const answers: (AuthenticatedUser | undefined)[] = [undefined, { userId: 'ann' }];
    const { ask, users } = createWorker({ authenticate: () => () => answers.shift() });
    expect(await ask(path)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
    expect(answers).toHaveLength(1);
    expect(users).toEqual([]);
  },
);

test('CORS headers are on every answer for an allowed origin, refusals included', async () => {
  const origin = 'https://app.example';
  const { ask } = createWorker({ origins: [origin], authenticate: asNamed });
  const headers = { origin, authorization: 'ann' };
  const large = { method: 'POST', body: 'x'.repeat(LIMIT + 1) };
  const answers = [
    await ask(SESSIONS, { headers }),
    await ask(SESSIONS, { headers: { origin } }),
    await ask('/run', { ...large, headers }),
    await ask('/apps/app/users/bob/sessions', { headers }),
    await ask('/x', { headers }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 413, 403, 404]);
  for (const answer of answers) {
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('vary')).toBe('Origin');
  }
  const preflight = { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } };
  expect((await ask('/run', preflight)).headers.get('access-control-allow-methods')).toContain('POST');
  expect((await ask(SESSIONS, { headers: { origin: 'https://elsewhere.example' } })).status).toBe(403);
});
