import { afterEach, describe, expect, test, vi } from 'vitest';
import { AuthHandler, type AuthScheme, CredentialExchangeError, OAuth2CredentialExchanger } from './index.ts';

const schemeWith = (tokenUrl: string): AuthScheme => ({
  type: 'oauth2',
  flows: { clientCredentials: { tokenUrl, scopes: {} } },
});
const authCredential = { authType: 'oauth2', oauth2: { clientId: 'desk', clientSecret: 'hunter2' } };
const exchange = (tokenUrl: string) =>
  new OAuth2CredentialExchanger().exchange({ authScheme: schemeWith(tokenUrl), authCredential });

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Answers all requests with the response, and returns the requests. */
function stubFetch(response: () => Response): [string, RequestInit | undefined][] {
  const sent: [string, RequestInit | undefined][] = [];
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
    sent.push([url, init]);
    return response();
  });
  return sent;
}

describe('OAuth2CredentialExchanger', () => {
  test.each([
    'http://169.254.169.254/token',
    'http://10.0.0.1/token',
    'https://10.0.0.1/token',
    'http://token.example/token',
    'http://localhost/token',
    'https://localhost/token',
    'https://[::1]/token',
    'https://[::ffff:127.0.0.1]/token',
    'https://metadata.google.internal/token',
    'https://desk:hunter2@token.example/token',
    'file:///etc/passwd',
    'token',
  ])('sends no secret to %s', async (tokenUrl) => {
    const sent = stubFetch(() => Response.json({ access_token: 'given' }));
    await expect(exchange(tokenUrl)).rejects.toThrow(CredentialExchangeError);
    expect(sent).toEqual([]);
  });

  test('follows no redirect of the token endpoint', async () => {
    const sent = stubFetch(() => new Response(null, { status: 307, headers: { location: 'http://10.0.0.1/' } }));
    await expect(exchange('https://token.example/token')).rejects.toThrow('answered with status 307');
    expect(sent).toMatchObject([['https://token.example/token', { redirect: 'manual' }]]);
  });

  test('gets a token from a public address with https:', async () => {
    stubFetch(() => Response.json({ access_token: 'given' }));
    const { credential } = await exchange('https://token.example/token');
    expect(credential.oauth2?.accessToken).toBe('given');
  });
});

const clientOf = (flows: object) =>
  new AuthHandler({
    credentialKey: 'orders',
    authScheme: { type: 'oauth2', flows },
    rawAuthCredential: authCredential,
  }).generateAuthRequest().exchangedAuthCredential?.oauth2;

test.each(['implicit', 'password'])('AuthHandler refuses the flow %s, and names it', (flow) => {
  expect(() => clientOf({ [flow]: { authorizationUrl: 'https://login.example/', scopes: {} } })).toThrow(
    `AuthHandler: authScheme: users cannot sign in with the flow "${flow}"; write flows: { authorizationCode:`,
  );
});

test('AuthHandler makes the page of an OpenID Connect scheme without a tokenEndpoint', () => {
  const { exchangedAuthCredential } = new AuthHandler({
    credentialKey: 'orders',
    authScheme: { type: 'openIdConnect', authorizationEndpoint: 'https://login.example/auth', scopes: ['openid'] },
    rawAuthCredential: authCredential,
  }).generateAuthRequest();
  expect(exchangedAuthCredential?.oauth2?.authUri).toMatch(/^https:\/\/login\.example\/auth\?client_id=/);
});

test('of two flows, a user signs in with the one that has a page, and the code is exchanged', async () => {
  const tokenUrl = 'https://token.example/token';
  const flows = {
    clientCredentials: { tokenUrl, scopes: {} },
    authorizationCode: { authorizationUrl: 'https://login.example/consent', tokenUrl, scopes: {} },
  };
  const { authUri = '', state } = clientOf(flows) ?? {};
  expect(new URL(authUri).host).toBe('login.example');
  const sent = stubFetch(() => Response.json({ access_token: 'given' }));
  const oauth2 = { ...authCredential.oauth2, authCode: 'granted', ...(state !== undefined && { state }) };
  await new OAuth2CredentialExchanger().exchange({
    authScheme: { type: 'oauth2', flows },
    authCredential: { authType: 'oauth2', oauth2 },
  });
  expect(sent).toMatchObject([[tokenUrl, { body: expect.any(URLSearchParams) }]]);
  expect(sent.map(([, init]) => new URLSearchParams(init?.body as URLSearchParams).get('grant_type'))).toEqual([
    'authorization_code',
  ]);
});
