import { ConfigurationError } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { AuthenticatedUser } from '../server-options.ts';
import { createKeySetVerifier } from './key-set-verifier.ts';

/** Options of `jwtAuthenticate`. Exactly one of `secret` and `jwksUrl` is required. */
export interface JwtAuthenticateOptions {
  /** The secret with which the issuer signs tokens (HS256): at least 32 bytes. */
  readonly secret?: string | undefined;
  /**
   * The address of the public keys, as a JSON Web Key Set: RS256, PS256, ES256 or EdDSA. The keys are loaded at the first request and kept.
   * A token that names no key is verified with each. `https`, or `http` for this machine only.
   */
  readonly jwksUrl?: string | undefined;
  /** Required issuer of the token: its `iss`. */
  readonly issuer: string;
  /** Required audience of the token: its `aud`. */
  readonly audience: string;
  /** The claim that names the user. Default `sub`. */
  readonly userIdClaim?: string | undefined;
  /** Returns true if the bearer of the token may write state under `app:`. Default: false for all. */
  readonly mayWriteAppState?: ((claims: Readonly<JWTPayload>) => boolean) | undefined;
}

const OPTIONS: OptionRules<JwtAuthenticateOptions> = {
  secret: 'text',
  jwksUrl: 'text',
  issuer: 'text',
  audience: 'text',
  userIdClaim: 'text',
  mayWriteAppState: 'function',
};
const EXAMPLE = "jwtAuthenticate({ secret, issuer: 'my-login', audience: 'my-agents' })";
const HINTS = { key: 'write secret, for an issuer that signs with HS256, or jwksUrl, the address of its public keys' };
const MIN_SECRET_BYTES = 32;
/** Tolerated difference between the clocks of the token's issuer and of this machine. */
const CLOCK_TOLERANCE = '10s';

/**
 * Creates a hook for `authenticate` that accepts the token in `Authorization: Bearer` if it has a valid signature, an expiry that has not
 * passed, and a user. A web page cannot set that header for a WebSocket, so the token of a WebSocket may also be one of the requested
 * subprotocols: `new WebSocket(url, ['eventloom', 'bearer.' + token])`. Rejects when the keys cannot be loaded; the request is then
 * answered with status 500.
 * @throws ConfigurationError unless exactly one of `secret` and `jwksUrl` is given, for a secret that is too short, and for an address
 * without `https:`
 */
export function jwtAuthenticate(
  options: JwtAuthenticateOptions,
): (request: Request) => Promise<AuthenticatedUser | undefined> {
  checkOptions('jwtAuthenticate', OPTIONS, options, HINTS, EXAMPLE);
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

function createVerifier(options: JwtAuthenticateOptions): (token: string) => Promise<JWTPayload> {
  const { secret, jwksUrl, issuer, audience, userIdClaim } = options;
  const missing = issuer ? (audience ? (userIdClaim === '' ? 'userIdClaim' : undefined) : 'audience') : 'issuer';
  if (missing !== undefined) throw new ConfigurationError(`jwtAuthenticate: ${missing} is missing; write ${EXAMPLE}`);
  const checks = { issuer, audience, requiredClaims: ['exp'], clockTolerance: CLOCK_TOLERANCE };
  if (secret !== undefined && jwksUrl === undefined) {
    const key = new TextEncoder().encode(secret);
    if (new TextEncoder().encode(secret.trim()).length < MIN_SECRET_BYTES) {
      throw new ConfigurationError(
        `jwtAuthenticate: secret: expected at least ${MIN_SECRET_BYTES} bytes; create one with openssl rand -base64 32`,
      );
    }
    return async (token: string) => (await jwtVerify(token, key, { ...checks, algorithms: ['HS256'] })).payload;
  }
  if (jwksUrl === undefined || secret !== undefined) {
    throw new ConfigurationError(
      'jwtAuthenticate: expected either secret or jwksUrl; remove one, or write the missing one',
    );
  }
  return createKeySetVerifier(jwksUrl, checks);
}

/** True for an error of the token. For other errors the keys could not be loaded. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    error.code !== 'ERR_JOSE_GENERIC'
  );
}
