import type { CredentialKey } from '@eventloom/core';

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
