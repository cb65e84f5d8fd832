import { ConfigurationError } from '@eventloom/core';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { jwtAuthenticate, type JwtAuthenticateOptions } from './jwt-authenticate.ts';

const SECRET = 'a secret of the tests, which is long enough';
const OPTIONS = { secret: SECRET, issuer: 'issuer', audience: 'agents' };

interface Token {
  readonly alg?: string;
  readonly secret?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly subject?: string;
  readonly expires?: string | null;
}

async function requestWith(token: Token = {}): Promise<Request> {
  const {
    secret = SECRET,
    issuer = 'issuer',
    audience = 'agents',
    subject = 'ann',
    expires = '1h',
    alg = 'HS256',
  } = token;
  const jwt = new SignJWT({ role: 'admin' }).setProtectedHeader({ alg });
  jwt.setSubject(subject).setIssuer(issuer).setAudience(audience);
  if (expires !== null) jwt.setExpirationTime(expires);
  const authorization = `Bearer ${await jwt.sign(new TextEncoder().encode(secret))}`;
  return new Request('https://agents.example/', { headers: { authorization } });
}

test('a valid token names its user', async () => {
  const authenticate = jwtAuthenticate(OPTIONS);
  expect(await authenticate(await requestWith())).toEqual({ userId: 'ann', mayWriteAppState: false });
});

test('options name the claims of the user id and of app state', async () => {
  const authenticate = jwtAuthenticate({
    ...OPTIONS,
    userIdClaim: 'role',
    mayWriteAppState: ({ sub }) => sub === 'ann',
  });
  expect(await authenticate(await requestWith())).toEqual({ userId: 'admin', mayWriteAppState: true });
});

test.each<[string, Token]>([
  ['of another algorithm', { alg: 'HS384' }],
  ['of another algorithm of that secret', { alg: 'HS512' }],
  ['of another secret', { secret: 'another secret, which is long enough as well' }],
  ['of another issuer', { issuer: 'other' }],
  ['for another audience', { audience: 'other' }],
  ['that expired', { expires: '-1h' }],
  ['that never expires', { expires: null }],
  ['without a user', { subject: '' }],
])('a token %s is refused', async (_name, token) => {
  expect(await jwtAuthenticate(OPTIONS)(await requestWith(token))).toBeUndefined();
});

test.each(['', 'Bearer', 'Bearer x', 'Basic YTpi', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.'])(
  'the header %j is refused',
  async (authorization) => {
    const request = new Request('https://agents.example/', { headers: { authorization } });
    expect(await jwtAuthenticate(OPTIONS)(request)).toBeUndefined();
  },
);

test('a clock difference of a few seconds is accepted', async () => {
  expect(await jwtAuthenticate(OPTIONS)(await requestWith({ expires: '-5s' }))).toMatchObject({ userId: 'ann' });
  expect(await jwtAuthenticate(OPTIONS)(await requestWith({ expires: '-15s' }))).toBeUndefined();
});

test('a WebSocket request may have its token among the protocols, other requests may not', async () => {
  const authenticate = jwtAuthenticate(OPTIONS);
  const token = (await requestWith()).headers.get('authorization')?.slice('Bearer '.length) ?? '';
  const ask = (headers: Record<string, string>) => authenticate(new Request('https://agents.example/', { headers }));
  const protocols = { 'sec-websocket-protocol': `eventloom, bearer.${token}` };
  expect(await ask({ upgrade: 'websocket', ...protocols })).toEqual({ userId: 'ann', mayWriteAppState: false });
  expect(await ask(protocols)).toBeUndefined();
  expect(await ask({ upgrade: 'websocket', ...protocols, authorization: 'Bearer x.y.z' })).toBeUndefined();
  expect(await ask({ upgrade: 'websocket', 'sec-websocket-protocol': `eventloom, bearer.${token}x` })).toBeUndefined();
});

test.each<[Partial<JwtAuthenticateOptions>, string]>([
  [{ secret: 'short' }, 'secret: expected at least 32 bytes; create one with openssl rand -base64 32'],
  [{ issuer: '' }, 'issuer is missing; write jwtAuthenticate({ secret, issuer'],
  [{ audience: '' }, 'audience is missing; write'],
])('the error for %j says what to write', (options, message) => {
  expect(() => jwtAuthenticate({ ...OPTIONS, ...options })).toThrow(message);
});

test('the errors for no options and for a key say what to write', () => {
  expect(() => jwtAuthenticate(undefined as never)).toThrow(
    "jwtAuthenticate: expected an object of options, got nothing; write jwtAuthenticate({ secret, issuer: 'my-login', audience: 'my-agents' })",
  );
  expect(() => jwtAuthenticate({ key: 'x' } as never)).toThrow('jwtAuthenticate: has no option "key"; write secret');
});

test.each<Partial<JwtAuthenticateOptions>>([
  { secret: undefined },
  { secret: 'short' },
  { secret: 'x'.repeat(31) },
  { secret: ' '.repeat(32) },
  { secret: `x${' '.repeat(40)}` },
  { issuer: '' },
  { audience: '' },
  { userIdClaim: '' },
  { jwksUrl: 'https://issuer.example/keys' },
  { secret: undefined, jwksUrl: 'keys' },
  { secret: undefined, jwksUrl: 'http://issuer.example/keys' },
  { secret: undefined, jwksUrl: 'http://localhost.example/keys' },
  { secret: undefined, jwksUrl: 'ftp://issuer.example/keys' },
])('invalid options are refused at once: %j', (options) => {
  expect(() => jwtAuthenticate({ ...OPTIONS, ...options })).toThrow(ConfigurationError);
});

test.each(['https://issuer.example/keys', 'http://localhost:8080/keys', 'http://127.0.0.1/keys', 'http://[::1]/keys'])(
  'keys may be loaded from %s',
  (jwksUrl) => {
    expect(() => jwtAuthenticate({ ...OPTIONS, secret: undefined, jwksUrl })).not.toThrow();
  },
);
