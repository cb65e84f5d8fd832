import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { jwtAuthenticate } from './jwt-authenticate.ts';

interface Pair {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** The key set that the identity provider publishes, the status of its response, and the number of requests. */
const published = { keys: [] as JWK[] | string, status: 200, asked: 0 };
const server = createServer((_request, response) => {
  published.asked++;
  response.writeHead(published.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ keys: published.keys }));
});
let jwksUrl = '';
let first: Pair;
let second: Pair;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  [first, second] = await Promise.all([pairOf('RS256'), pairOf('RS256')]);
});
afterAll(() => server.close());
beforeEach(() => Object.assign(published, { keys: [], status: 200, asked: 0 }));

async function pairOf(alg: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { privateKey, jwk: await exportJWK(publicKey) };
}

interface Token {
  readonly alg?: string;
  readonly kid?: string;
  readonly key?: CryptoKey | Uint8Array;
  readonly issuer?: string;
  readonly audience?: string;
  readonly notBefore?: string;
  readonly expires?: string;
}

/** Returns the user that a token names, if the identity provider publishes these keys. */
async function userOf(token: Token, keys: readonly JWK[] | string): Promise<string | undefined> {
  const { alg = 'RS256', kid, key = first.privateKey, expires = '1h', notBefore = '-1h' } = token;
  const jwt = new SignJWT({}).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).setSubject('ann');
  jwt.setIssuer(token.issuer ?? 'issuer').setAudience(token.audience ?? 'agents');
  jwt.setExpirationTime(expires).setNotBefore(notBefore);
  const headers = { authorization: `Bearer ${await jwt.sign(key)}` };
  published.keys = typeof keys === 'string' ? keys : [...keys];
  const authenticate = jwtAuthenticate({ jwksUrl, issuer: 'issuer', audience: 'agents' });
  return (await authenticate(new Request('https://agents.example/', { headers })))?.userId;
}

const named = ({ jwk }: Pair, kid: string): JWK => ({ ...jwk, kid });

describe('a token signed with a published key', () => {
  test('names its user', async () => {
    expect(await userOf({ kid: 'a' }, [named(second, 'b'), named(first, 'a')])).toBe('ann');
  });

  test.each([
    ['and the token names no key', {}],
    ['and the token names a key that is not published', { kid: 'a' }],
  ])('names its user if its key is any of the published ones, %s', async (_how, token) => {
    expect(await userOf(token, [first.jwk])).toBe('ann');
    expect(await userOf(token, [first.jwk, second.jwk])).toBe('ann');
    expect(await userOf(token, [second.jwk, first.jwk])).toBe('ann');
  });

  test.each(['PS256', 'ES256', 'EdDSA'])('with %s', async (alg) => {
    const pair = await pairOf(alg);
    expect(await userOf({ alg, key: pair.privateKey, kid: 'a' }, [named(pair, 'a'), named(first, 'b')])).toBe('ann');
  });

  test('is accepted with a clock difference of a few seconds', async () => {
    expect(await userOf({ notBefore: '5s' }, [first.jwk])).toBe('ann');
    expect(await userOf({ expires: '-5s' }, [first.jwk])).toBe('ann');
  });
});

describe('a token is refused', () => {
  test('signed with an unpublished key', async () => {
    expect(await userOf({}, [second.jwk])).toBeUndefined();
    expect(await userOf({}, [second.jwk, second.jwk])).toBeUndefined();
    expect(await userOf({ kid: 'b' }, [named(first, 'a'), named(second, 'b')])).toBeUndefined();
    expect(await userOf({}, [])).toBeUndefined();
  });

  test.each<[string, Token]>([
    ['of another issuer', { issuer: 'other' }],
    ['for another audience', { audience: 'other' }],
    ['that expired', { expires: '-1h' }],
    ['that is for later', { notBefore: '1h' }],
  ])('%s, with any published keys', async (_name, token) => {
    expect(await userOf(token, [first.jwk])).toBeUndefined();
    expect(await userOf(token, [first.jwk, second.jwk])).toBeUndefined();
  });

  test('signed with a public key as a secret', async () => {
    const key = crypto.getRandomValues(new Uint8Array(32));
    const secret: JWK = { kty: 'oct', k: Buffer.from(key).toString('base64url') };
    expect(await userOf({ alg: 'HS256', key }, [secret, first.jwk])).toBeUndefined();
    const publicKey = new TextEncoder().encode(JSON.stringify(first.jwk));
    expect(await userOf({ alg: 'HS256', key: publicKey }, [first.jwk])).toBeUndefined();
  });

  test('with an algorithm that is not allowed', async () => {
    const pair = await pairOf('RS512');
    expect(await userOf({ alg: 'RS512', key: pair.privateKey }, [pair.jwk])).toBeUndefined();
  });
});

test('an unreachable key set is a server failure', async () => {
  published.status = 500;
  await expect(userOf({}, [first.jwk])).rejects.toThrow();
  published.status = 200;
  await expect(userOf({}, 'no list')).rejects.toThrow();
  await expect(userOf({}, [{ kty: 'no key' }, first.jwk])).resolves.toBe('ann');
});

test('keys are loaded once', async () => {
  published.keys = [first.jwk];
  const authenticate = jwtAuthenticate({ jwksUrl, issuer: 'issuer', audience: 'agents' });
  const jwt = new SignJWT({}).setProtectedHeader({ alg: 'RS256' }).setSubject('ann').setExpirationTime('1h');
  const token = await jwt.setIssuer('issuer').setAudience('agents').sign(first.privateKey);
  const headers = { authorization: `Bearer ${token}` };
  for (let time = 0; time < 3; time++) await authenticate(new Request('https://agents.example/', { headers }));
  expect(published.asked).toBe(1);
});

test('a key set that times out is a server failure', async () => {
  const late = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new DOMException('late', 'TimeoutError'));
  await expect(userOf({}, [])).rejects.toMatchObject({ code: 'ERR_JWKS_TIMEOUT' });
  late.mockRestore();
});
