import { ConfigurationError } from '@eventloom/core';
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import type { AuthenticatedUser } from '../server-options.ts';

/** Which tokens are believed. Give `secret` or `jwksUrl`. */
export interface JwtAuthenticateOptions {
  /** A secret that whoever makes the tokens shares, at least 32 bytes: HS256. */
  readonly secret?: string | undefined;
  /** Where the public keys are published, as a JSON Web Key Set: RS256, PS256, ES256 or EdDSA. They are loaded when first needed and kept. */
  readonly jwksUrl?: string | undefined;
  /** Who must have made the token: its `iss`. */
  readonly issuer: string;
  /** For whom it must have been made: its `aud`. */
  readonly audience: string;
  /** The claim that names the user. Default `sub`. */
  readonly userIdClaim?: string | undefined;
  /** Whether the token lets its bearer write state under `app:`. Default: none does. */
  readonly mayWriteAppState?: ((claims: Readonly<JWTPayload>) => boolean) | undefined;
}

const PUBLIC_KEY_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const MIN_SECRET_BYTES = 32;

/**
 * A hook for `authenticate`: believes the token in `Authorization: Bearer`, when its signature holds, it has not expired and it names
 * a user. It must expire. A web page cannot set that header for a WebSocket, so there the token may also be one of the protocols that are asked
 * for: `new WebSocket(url, ['eventloom', 'bearer.' + token])`. Rejects when the keys cannot be loaded; the request is then answered with status 500.
 * @throws ConfigurationError unless there is one of `secret` and `jwksUrl`, and for a secret that is too short
 */
export function jwtAuthenticate(
  options: JwtAuthenticateOptions,
): (request: Request) => Promise<AuthenticatedUser | undefined> {
  const { userIdClaim = 'sub', mayWriteAppState } = options;
  const verify = createVerifier(options);
  return async (request) => {
    const token = tokenOf(request.headers);
    if (token === undefined) return undefined;
    try {
      const claims = await verify(token);
      const userId = claims[userIdClaim];
      if (typeof userId !== 'string' || userId === '') return undefined;
      return { userId, mayWriteAppState: mayWriteAppState?.(claims) === true };
    } catch (error) {
      if (isAboutToken(error)) return undefined;
      throw error;
    }
  };
}

function tokenOf(headers: Headers): string | undefined {
  const authorization = headers.get('authorization');
  if (authorization !== null) return /^Bearer +([\w~+/.-]+=*) *$/i.exec(authorization)?.[1];
  if (headers.get('upgrade')?.toLowerCase() !== 'websocket') return undefined;
  return /(?:^|,) *bearer\.([\w.-]+) *(?:,|$)/.exec(headers.get('sec-websocket-protocol') ?? '')?.[1];
}

function createVerifier({ secret, jwksUrl, issuer, audience }: JwtAuthenticateOptions) {
  if (!issuer || !audience) throw new ConfigurationError('jwtAuthenticate: needs an issuer and an audience');
  const checks = { issuer, audience, requiredClaims: ['exp'] };
  if (secret !== undefined && jwksUrl === undefined) {
    const key = new TextEncoder().encode(secret);
    if (key.length < MIN_SECRET_BYTES) {
      throw new ConfigurationError(`jwtAuthenticate: the secret must have at least ${MIN_SECRET_BYTES} bytes`);
    }
    return async (token: string) => (await jwtVerify(token, key, { ...checks, algorithms: ['HS256'] })).payload;
  }
  if (jwksUrl === undefined || secret !== undefined || !URL.canParse(jwksUrl)) {
    throw new ConfigurationError('jwtAuthenticate: needs either a secret or the address of a key set, jwksUrl');
  }
  const keys = createRemoteJWKSet(new URL(jwksUrl));
  return async (token: string) =>
    (await jwtVerify(token, keys, { ...checks, algorithms: PUBLIC_KEY_ALGORITHMS })).payload;
}

/** The others say that the keys could not be had. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    error.code !== 'ERR_JOSE_GENERIC'
  );
}
