import { ConfigurationError } from '@eventloom/core';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { jwtAuthenticate } from './jwt-authenticate.ts';

const SECRET = 'a secret of the tests, which is long enough';
const OPTIONS = { secret: SECRET, issuer: 'issuer', audience: 'agents' };

interface Token {
  readonly secret?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly subject?: string;
  readonly expires?: string | null;
}

async function requestWith(token: Token = {}): Promise<Request> {
  const { secret = SECRET, issuer = 'issuer', audience = 'agents', subject = 'ann', expires = '1h' } = token;
  const jwt = new SignJWT({ role: 'admin' }).setProtectedHeader({ alg: 'HS256' });
  jwt.setSubject(subject).setIssuer(issuer).setAudience(audience);
  if (expires !== null) jwt.setExpirationTime(expires);
  const authorization = `Bearer ${await jwt.sign(new TextEncoder().encode(secret))}`;
  return new Request('https://agents.example/', { headers: { authorization } });
}

test('a token that holds names its user', async () => {
  const authenticate = jwtAuthenticate(OPTIONS);
  expect(await authenticate(await requestWith())).toEqual({ userId: 'ann', mayWriteAppState: false });
});

test('claims may name the user otherwise, and allow app state', async () => {
  const authenticate = jwtAuthenticate({
    ...OPTIONS,
    userIdClaim: 'role',
    mayWriteAppState: ({ sub }) => sub === 'ann',
  });
  expect(await authenticate(await requestWith())).toEqual({ userId: 'admin', mayWriteAppState: true });
});

test.each<[string, Token]>([
  ['of another secret', { secret: 'another secret, which is long enough as well' }],
  ['of another issuer', { issuer: 'other' }],
  ['for another audience', { audience: 'other' }],
  ['that expired', { expires: '-1h' }],
  ['that never expires', { expires: null }],
  ['without a user', { subject: '' }],
])('a token %s is not believed', async (_name, token) => {
  expect(await jwtAuthenticate(OPTIONS)(await requestWith(token))).toBeUndefined();
});

test.each(['', 'Bearer', 'Bearer x', 'Basic YTpi', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.'])(
  'the header %j names nobody',
  async (authorization) => {
    const request = new Request('https://agents.example/', { headers: { authorization } });
    expect(await jwtAuthenticate(OPTIONS)(request)).toBeUndefined();
  },
);

test('what cannot work is refused at once', () => {
  const { issuer, audience } = OPTIONS;
  expect(() => jwtAuthenticate({ issuer, audience })).toThrow(ConfigurationError);
  expect(() => jwtAuthenticate({ ...OPTIONS, secret: 'short' })).toThrow(ConfigurationError);
  expect(() => jwtAuthenticate({ ...OPTIONS, jwksUrl: 'https://issuer.example/keys' })).toThrow(ConfigurationError);
});

test('a web page gives its token for a WebSocket among the protocols, and nowhere else', async () => {
  const authenticate = jwtAuthenticate(OPTIONS);
  const token = (await requestWith()).headers.get('authorization')?.slice('Bearer '.length) ?? '';
  const ask = (headers: Record<string, string>) => authenticate(new Request('https://agents.example/', { headers }));
  const protocols = { 'sec-websocket-protocol': `eventloom, bearer.${token}` };
  expect(await ask({ upgrade: 'websocket', ...protocols })).toEqual({ userId: 'ann', mayWriteAppState: false });
  expect(await ask(protocols)).toBeUndefined();
  expect(await ask({ upgrade: 'websocket', ...protocols, authorization: 'Bearer x.y.z' })).toBeUndefined();
  expect(await ask({ upgrade: 'websocket', 'sec-websocket-protocol': `eventloom, bearer.${token}x` })).toBeUndefined();
});
