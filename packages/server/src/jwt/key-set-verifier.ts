import { ConfigurationError } from '@eventloom/core';
import {
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  type JWTVerifyOptions,
} from 'jose';

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
/**
 * Addresses from which keys may be fetched: `https`, and `http` on this machine only, because a key that was replaced in transit would be
 * trusted.
 */
const SAFE_ADDRESS = /^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/;

/**
 * Creates a function that checks tokens with the public keys published at an address.
 *
 * @throws ConfigurationError for an address that is invalid, or from which keys cannot be loaded safely
 */
export function createKeySetVerifier(
  jwksUrl: string,
  checks: JWTVerifyOptions,
): (token: string) => Promise<JWTPayload> {
  if (!URL.canParse(jwksUrl) || !SAFE_ADDRESS.test(new URL(jwksUrl).href)) {
    throw new ConfigurationError(
      "jwtAuthenticate: jwksUrl: expected a URL that begins with https://; write jwksUrl: 'https://login.example/.well-known/jwks.json'",
    );
  }
  const keys = createRemoteJWKSet(new URL(jwksUrl));
  const options = { ...checks, algorithms: ALGORITHMS };
  return async (token) => {
    try {
      return (await jwtVerify(token, named(keys), options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      return verifyWithEach(error, token, options);
    }
  };
}

/** Returns a function that finds the key named in the token, otherwise a key for the token's algorithm. */
function named(keys: ReturnType<typeof createRemoteJWKSet>): JWTVerifyGetKey {
  return (header, token) =>
    keys(header, token).catch((error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const { kid: _kid, ...unnamed } = header;
      return keys(unnamed);
    });
}

async function verifyWithEach(
  keys: AsyncIterable<CryptoKey>,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}
