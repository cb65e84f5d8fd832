import { type AuthCredential, type CredentialKey, InvalidRequestError } from '@eventloom/core';
import { checkArgument, checkName, copyJson } from '@eventloom/core/internal';

/** An encrypted credential, as a store keeps it. */
export interface SealedCredential {
  /** Id of the key that sealed the credential. It finds credentials that an earlier key sealed. */
  readonly keyId: string;
  /** The nonce and the ciphertext: some tens of bytes more than the credential as JSON. */
  readonly sealed: Uint8Array;
}

/**
 * Storage of `EncryptedCredentialService` for sealed credentials. The service has checked the keys: three strings
 * without NUL, each at most 256 bytes, compared byte by byte. Calls may run concurrently, also from several processes
 * that share the storage.
 */
export interface CredentialStore {
  /**
   * Returns the credential that was saved last, or undefined. A save is visible to all processes as soon as it
   * resolves.
   */
  load(key: CredentialKey): Promise<SealedCredential | undefined>;
  /** Replaces the stored credential. Of several concurrent saves, one is kept as a whole. */
  save(key: CredentialKey, credential: SealedCredential): Promise<void>;
  /** Deletes the credential. Does nothing if there is none. */
  delete(key: CredentialKey): Promise<void>;
}

/**
 * Checks and copies a credential. Error messages do not quote it.
 * @throws InvalidRequestError for a value that is not a credential, or is not JSON
 */
export function copyCredential(credential: AuthCredential): AuthCredential {
  const copied = copyJson(credential);
  const found = 'value' in copied ? parseStoredCredential(copied.value) : undefined;
  if (!found) throw new InvalidRequestError('credential: expected JSON with a string as authType');
  return found;
}

/** Parses a stored credential. Returns undefined if the value is not a credential. */
export function parseStoredCredential(kept: unknown): AuthCredential | undefined {
  if (typeof kept !== 'object' || kept === null || !('authType' in kept)) return undefined;
  const { authType } = kept;
  return typeof authType === 'string' ? { ...kept, authType } : undefined;
}

/** Checks the key of a credential. @throws InvalidRequestError for an invalid name; the message names the field */
export function checkCredentialKey(key: CredentialKey): void {
  checkArgument('{ appName, userId, credentialKey }', key);
  for (const field of ['appName', 'userId', 'credentialKey'] as const) checkName(field, key[field]);
}
