import { type AuthCredential, type CredentialKey, InvalidRequestError } from '@eventloom/core';
import { checkName, copyJson } from '@eventloom/core/internal';

/** A credential as a store sees it. */
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
  /** Keeps it in place of what was there: one of several that are saved at once, whole. */
  save(key: CredentialKey, credential: SealedCredential): Promise<void>;
  /** Absent: a no-op. */
  delete(key: CredentialKey): Promise<void>;
}

/**
 * A credential as it is kept: a copy. Nothing of it is in the message of an error.
 * @throws InvalidRequestError for what is no credential, or holds what is no JSON
 */
export function copyCredential(credential: AuthCredential): AuthCredential {
  const copied = copyJson(credential);
  const found = 'value' in copied ? readCredential(copied.value) : undefined;
  if (!found) throw new InvalidRequestError('credential: must be JSON, with an authType that is text');
  return found;
}

/** Parses a stored credential. Returns undefined if the value is not a credential. */
export function readCredential(kept: unknown): AuthCredential | undefined {
  if (typeof kept !== 'object' || kept === null || !('authType' in kept)) return undefined;
  const { authType } = kept;
  return typeof authType === 'string' ? { ...kept, authType } : undefined;
}

/** @throws InvalidRequestError that names the field */
export function checkCredentialKey({ appName, userId, credentialKey }: CredentialKey): void {
  checkName('appName', appName);
  checkName('userId', userId);
  checkName('credentialKey', credentialKey);
}
