import { DpopSession, generateDpopKeyPair } from '@modelcontextprotocol/client';
import { isRecord } from '@eventloom/core/internal';

const CURVE = { kty: 'EC', crv: 'P-256' };
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
/** The name of this kind of key in the metadata of authorization servers. */
export const PROOF_ALGORITHM = 'ES256';

/** The coordinates and the secret of a key, as they are stored with the token that is bound to the key. */
interface StoredKey {
  readonly x: string;
  readonly y: string;
  readonly d: string;
  readonly thumbprint: string;
}

/**
 * A key that a user's tokens are bound to. Each request proves the possession of the key (DPoP, RFC 9449), so that a stolen token is
 * useless without it. The key is stored beside the token.
 */
export interface ProofKey {
  readonly stored: StoredKey;
  /** Makes the proofs, and keeps the nonces of the servers. */
  readonly session: DpopSession;
}

export async function createProofKey(): Promise<ProofKey> {
  const keyPair = await generateDpopKeyPair({ extractable: true });
  const { x = '', y = '', d = '' } = await crypto.subtle.exportKey('jwk', keyPair.privateKey);
  const stored = { x, y, d, thumbprint: keyPair.thumbprint };
  return { stored, session: await DpopSession.create({ keyPair }) };
}

/** Reads a key that was stored with a token; undefined if there is none. */
export async function readProofKey(stored: unknown): Promise<ProofKey | undefined> {
  if (!isStoredKey(stored)) return undefined;
  const { x, y, d, thumbprint } = stored;
  const publicJwk = { ...CURVE, x, y };
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('jwk', { ...publicJwk, d }, ALGORITHM, false, ['sign']),
    crypto.subtle.importKey('jwk', publicJwk, ALGORITHM, true, ['verify']),
  ]);
  const keyPair = { privateKey, publicKey, publicJwk, thumbprint, alg: PROOF_ALGORITHM } as const;
  return { stored, session: await DpopSession.create({ keyPair }) };
}

export function isStoredKey(value: unknown): value is StoredKey {
  return isRecord(value) && ['x', 'y', 'd', 'thumbprint'].every((name) => typeof value[name] === 'string');
}
