import { type AuthCredential, type Event, getFunctionCalls, getFunctionResponses, type Part } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, inject, test } from 'vitest';
import { type Echo, echo, operation, toolsetOf } from './fixtures/call-tool.ts';
import type { OpenAPIToolsetOptions } from './openapi-toolset.ts';

const SECRET = 'hunter2-secret';
const host = () => new URL(inject('api')).host;

/** Returns a document whose operation needs these schemes; by default all of them together. */
function secured(securitySchemes: object, security?: object, path = '/echo'): object {
  const all = Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, []]));
  const parameters = [{ name: 'token', in: 'query', schema: { type: 'string' } }];
  return operation(path, { security: security ?? [all], parameters }, { components: { securitySchemes } });
}

const BEARER = { type: 'http', scheme: 'bearer' };
const bearer = (token: string): AuthCredential => ({ authType: 'http', http: { credentials: { token } } });
const key = (apiKey: string): AuthCredential => ({ authType: 'apiKey', apiKey });

test.each([
  ['a key in a header', { type: 'apiKey', in: 'header', name: 'X-Key' }, key('k'), { headers: { 'x-key': 'k' } }],
  ['a key in the query', { type: 'apiKey', in: 'query', name: 'api_key' }, key('k&1'), { url: '/echo?api_key=k%261' }],
  ['a key in a cookie', { type: 'apiKey', in: 'cookie', name: 'sid' }, key('k'), { headers: { cookie: 'sid=k' } }],
  ['a bearer token', BEARER, bearer('t'), { headers: { authorization: 'Bearer t' } }],
  ['a scheme of its own', { type: 'http', scheme: 'Token' }, bearer('t'), { headers: { authorization: 'Token t' } }],
  [
    'a user and a password',
    { type: 'http', scheme: 'Basic' },
    { authType: 'http', http: { credentials: { username: 'Ann', password: 'pä' } } },
    { headers: { authorization: `Basic ${btoa('Ann:p\u00c3\u00a4')}` } },
  ],
  [
    'a token of OAuth 2',
    { type: 'oauth2', flows: {} },
    { authType: 'oauth2', oauth2: { accessToken: 't' } },
    { headers: { authorization: 'Bearer t' } },
  ],
  [
    'headers of the credential',
    BEARER,
    { authType: 'http', http: { credentials: { token: 't' }, additionalHeaders: { 'X-Tenant': 'a' } } },
    { headers: { authorization: 'Bearer t', 'x-tenant': 'a' } },
  ],
] as const)('the app sends %s', async (_, scheme, authCredential, received) => {
  expect(await echo(secured({ own: scheme }), {}, { authCredential })).toMatchObject(received);
});

test('authScheme replaces the schemes of the document', async () => {
  const authScheme = { type: 'apiKey', in: 'header', name: 'X-Own' };
  const { headers } = await echo(secured({ own: BEARER }), {}, { authScheme, authCredential: key('k') });
  expect([headers['x-own'], headers['authorization']]).toEqual(['k', undefined]);
});

test('the first satisfied alternative is used, or none if the document allows that', async () => {
  const schemes = { own: BEARER, key: { type: 'apiKey', in: 'header', name: 'X-Key' } };
  const security = [{ own: [] }, { key: [] }];
  const { headers } = await echo(secured(schemes, security), {}, { authCredential: key('k') });
  expect([headers['x-key'], headers['authorization']]).toEqual(['k', undefined]);
  expect((await echo(secured(schemes, [{ own: [] }, {}]))).headers['authorization']).toBeUndefined();
  expect((await echo(secured(schemes, []))).headers['authorization']).toBeUndefined();
});

/** A runner whose agent calls the operation in each turn, and its credential service. */
async function conversation(specDict: object, options: Partial<OpenAPIToolsetOptions> = {}, args: object = {}) {
  const credentialService = new InMemoryCredentialService();
  const sessionService = new InMemorySessionService();
  const platform = fixedPlatform();
  const turns = Array.from({ length: 6 }, (_, turn) => [
    { calls: [{ id: `c${turn}`, name: 'call', args: { ...args } }] },
    'Done.',
  ]);
  const model = new ScriptedModel(turns.flat());
  const agent = new LlmAgent({ name: 'clerk', model, tools: [toolsetOf(specDict, options)] });
  const runner = new Runner({ appName: 'app', agent, sessionService, credentialService, platform });
  await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
  const send = async (part: Part): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { role: 'user', parts: [part] } });
  const stored = (credentialKey: string) =>
    credentialService.loadCredential({ appName: 'app', userId: 'u', credentialKey });
  return { send, stored, platform, credentialService };
}

const requestOf = (events: readonly Event[]) =>
  events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');
/** The request for a credential that the client gets. */
interface AskedConfig {
  readonly credentialKey: string;
  readonly rawAuthCredential?: AuthCredential;
  readonly exchangedAuthCredential?: { readonly oauth2: { readonly authUri: string; readonly state: string } };
}

const authConfigOf = (events: readonly Event[]) => requestOf(events)?.args?.['authConfig'] as AskedConfig | undefined;
/** Returns the consent that is requested from the user. */
const consentOf = (events: readonly Event[]) =>
  authConfigOf(events)?.exchangedAuthCredential?.oauth2 ?? { authUri: '', state: '' };
/** Returns the last response of the operation. */
const resultOf = (events: readonly Event[]) =>
  events
    .flatMap(getFunctionResponses)
    .filter(({ name }) => name === 'call')
    .at(-1)?.response as { readonly body: Echo } | undefined;
const answerTo = (events: readonly Event[], response: object): Part => ({
  functionResponse: { id: requestOf(events)?.id ?? '', name: 'adk_request_credential', response: { ...response } },
});
const GO = { text: 'go' };

test('the user is asked for a credential that is missing, and the call continues with it', async () => {
  const { send, stored } = await conversation(secured({ own: BEARER }));
  const asked = await send(GO);
  expect(authConfigOf(asked)).toEqual({ authScheme: BEARER, credentialKey: `openapi:${host()}:own` });
  const answered = await send(answerTo(asked, bearer(SECRET)));
  expect(resultOf(answered)?.body.headers['authorization']).toBe(`Bearer ${SECRET}`);
  expect(await stored(`openapi:${host()}:own`)).toEqual(bearer(SECRET));
  expect(requestOf(await send(GO))).toBeUndefined();
});

test('a user who gives no credential is not asked again in the same call', async () => {
  const { send } = await conversation(secured({ own: BEARER }));
  const answered = await send(answerTo(await send(GO), {}));
  expect(requestOf(answered)).toBeUndefined();
  expect(resultOf(answered)).toEqual({ error: expect.stringMatching(/credential/) });
});

test('schemes that are needed together are requested one after the other, each under its own key', async () => {
  const specDict = secured({ own: BEARER, key: { type: 'apiKey', in: 'header', name: 'X-Key' } });
  const { send } = await conversation(specDict, { credentialKey: 'shop' });
  const first = await send(GO);
  expect(authConfigOf(first)).toMatchObject({ credentialKey: 'shop:own' });
  const second = await send(answerTo(first, bearer('t')));
  expect(authConfigOf(second)).toMatchObject({ credentialKey: 'shop:key' });
  expect(resultOf(await send(answerTo(second, key('k'))))?.body.headers).toMatchObject({
    authorization: 'Bearer t',
    'x-key': 'k',
  });
});

test('a credential that the API refuses is requested again, once', async () => {
  const { send } = await conversation(secured({ own: BEARER }, undefined, '/protected'), {}, { token: 'new' });
  const first = await send(answerTo(await send(GO), bearer('old')));
  // The API refuses the credential that this call requested, so the model gets the status.
  expect(resultOf(first)).toMatchObject({ status: 401 });
  const asked = await send(GO);
  expect(requestOf(asked)).toBeDefined();
  expect(resultOf(await send(answerTo(asked, bearer('new'))))).toMatchObject({ status: 200 });
});

const FLOWS = (flows: readonly string[]) =>
  Object.fromEntries(
    flows.map((flow) => [
      flow,
      { authorizationUrl: 'https://login.example/consent?tenant=1', tokenUrl: '/token', scopes: {} },
    ]),
  );
const oauth2 = (...flows: string[]) => ({ login: { type: 'oauth2', flows: FLOWS(flows) } });
const SCOPES = [{ login: ['pets:read', 'pets:write'] }];
const APP: AuthCredential = {
  authType: 'oauth2',
  oauth2: { clientId: 'app', clientSecret: SECRET, redirectUri: 'https://app.example/back' },
};

test('an app gets a token with its own secret, once until it expires', async () => {
  const { clientId = '', clientSecret = '' } = APP.oauth2 ?? {};
  const authCredential = { authType: 'oauth2', oauth2: { clientId, clientSecret } };
  const { send } = await conversation(secured(oauth2('clientCredentials'), SCOPES), { authCredential });
  expect(resultOf(await send(GO))?.body.headers['authorization']).toBe(
    `Bearer client_credentials|${SECRET}|app|pets:read pets:write`,
  );
});

test.each([
  ['oauth2', oauth2('authorizationCode', 'clientCredentials')],
  ['openIdConnect', { login: { type: 'openIdConnect', openIdConnectUrl: '/openid' } }],
])('the user consents with %s, and the code is exchanged', async (_, schemes) => {
  const { send, stored } = await conversation(secured(schemes, SCOPES), { authCredential: APP });
  const asked = await send(GO);
  const { authUri, state } = consentOf(asked);
  const page = new URL(authUri);
  expect(Object.fromEntries(page.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: 'app',
    redirect_uri: 'https://app.example/back',
    scope: 'pets:read pets:write',
    state,
    code_challenge_method: 'S256',
  });
  expect(authConfigOf(asked)?.rawAuthCredential?.oauth2).toEqual({
    clientId: 'app',
    redirectUri: 'https://app.example/back',
  });
  const challenge = page.searchParams.get('code_challenge');
  const answered = await send(
    answerTo(asked, {
      authType: 'oauth2',
      oauth2: { authResponseUri: `https://app.example/back?code=abc&state=${state}` },
    }),
  );
  expect(resultOf(answered)?.body.headers['authorization']).toBe(`Bearer authorization_code|abc|app|${challenge}`);
  expect(await stored(`openapi:${host()}:login`)).toMatchObject({ oauth2: { refreshToken: 'renewable' } });
  expect(await stored(`openapi:${host()}:login:consent`)).toEqual({ authType: 'oauth2' });
  expect(JSON.stringify([asked, answered])).not.toContain(SECRET);
});

test('a token that has expired is renewed without the user', async () => {
  const { send, platform } = await conversation(secured(oauth2('authorizationCode'), SCOPES), { authCredential: APP });
  const asked = await send(GO);
  const { state } = consentOf(asked);
  await send(answerTo(asked, { authType: 'oauth2', oauth2: { authCode: 'abc', state } }));
  platform.advance(3_599_000);
  expect(resultOf(await send(GO))?.body.headers['authorization']).toBe('Bearer refresh_token|renewable|app');
});

test('a token that the API refuses is renewed, and the call is sent again', async () => {
  const specDict = secured(oauth2('authorizationCode'), SCOPES, '/protected');
  const { send, credentialService } = await conversation(
    specDict,
    { authCredential: APP, credentialKey: 'pets' },
    { token: 'refresh_token|again|app' },
  );
  await credentialService.saveCredential({
    appName: 'app',
    userId: 'u',
    credentialKey: 'pets',
    credential: { authType: 'oauth2', oauth2: { accessToken: 'revoked', refreshToken: 'again' } },
  });
  expect(resultOf(await send(GO))).toMatchObject({ status: 200 });
});

test('the user is asked again if the server refuses to renew a token', async () => {
  const { send, credentialService } = await conversation(secured(oauth2('authorizationCode')), {
    authCredential: APP,
    credentialKey: 'pets',
  });
  await credentialService.saveCredential({
    appName: 'app',
    userId: 'u',
    credentialKey: 'pets',
    credential: { authType: 'oauth2', oauth2: { accessToken: 'old', refreshToken: 'bad', expiresAt: 1 } },
  });
  expect(authConfigOf(await send(GO))).toHaveProperty('exchangedAuthCredential.oauth2.authUri');
});

test.each([
  [
    { authResponseUri: 'https://app.example/back?code=abc&state=other' },
    'the authorization belongs to another request',
  ],
  [
    { authResponseUri: 'https://app.example/back?error=access_denied&state=STATE' },
    'the user did not grant the authorization',
  ],
  [{ authCode: 'bad' }, '127.0.0.1'],
])('the answer %j is an error of the call, and the next call asks again', async (answer, error) => {
  const { send } = await conversation(secured(oauth2('authorizationCode'), SCOPES), { authCredential: APP });
  const asked = await send(GO);
  const { state } = consentOf(asked);
  const given = JSON.parse(JSON.stringify(answer).replace('STATE', state)) as object;
  const answered = await send(answerTo(asked, { authType: 'oauth2', oauth2: given }));
  expect(resultOf(answered)).toEqual({ error: expect.stringContaining(error) });
  const again = await send(GO);
  expect(consentOf(again).state).not.toBe(state);
});

test.each([
  [
    'outside of allowedHosts gets no request',
    () => inject('api').replace('127.0.0.1', 'localhost'),
    'is not one of the allowed hosts',
  ],
  [
    'on the internet without https: gets no request',
    () => 'http://login.example/token',
    'login.example would get the secret unencrypted; write an address that begins with https:',
  ],
  [
    'that redirects the form gets no second request',
    () => '/raw?status=307&location=/token',
    'answered with HTTP status 307',
  ],
])('a token endpoint %s', async (_, tokenUrl, error) => {
  const schemes = oauth2('clientCredentials');
  schemes.login.flows['clientCredentials'] = { authorizationUrl: '', tokenUrl: tokenUrl(), scopes: {} };
  const { clientId = '', clientSecret = '' } = APP.oauth2 ?? {};
  const { send } = await conversation(secured(schemes), {
    authCredential: { authType: 'oauth2', oauth2: { clientId, clientSecret } },
    allowedHosts: [host(), 'login.example'],
  });
  expect(resultOf(await send(GO))).toEqual({ error: expect.stringContaining(error) });
});

test('a document of OpenID Connect on the internet without https: gets no request', async () => {
  const openIdConnectUrl = 'http://login.example/.well-known/openid-configuration';
  const { send } = await conversation(secured({ login: { type: 'openIdConnect', openIdConnectUrl } }), {
    authCredential: APP,
  });
  expect(resultOf(await send(GO))).toEqual({ error: expect.stringContaining('begins with https:') });
});
