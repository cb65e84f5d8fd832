import { type CredentialKey, type AuthCredential, copyJson, checkName, InvalidRequestError } from '@eventloom/core';

/** A credential as a store sees it. */
export interface SealedCredential {
  /** Which key it was sealed with: to find what is left of a former one. */
  readonly keyId: string;
  /** The nonce and the ciphertext: some tens of bytes more than the credential as JSON. */
  readonly sealed: Uint8Array;
}

/**
 * Where `EncryptedCredentialService` keeps what it has sealed. Keys were checked: three texts without NUL, of 256 bytes at most,
 * which are compared byte by byte. Calls may come at once, and from several processes if they share the storage.
 */
export interface CredentialStore {
  /** What was saved last, as soon as it was acknowledged, in any process; undefined when there is nothing. */
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

/** What was kept, as a credential; undefined when it is none. */
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
