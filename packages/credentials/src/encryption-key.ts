import { ConfigurationError, decodeBase64, isBase64 } from '@eventloom/core';

/** Of a key of AES-256. */
const ENCRYPTION_KEY_BYTES = 32;

/** A new key, of random bytes. */
export function createEncryptionKey(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(ENCRYPTION_KEY_BYTES));
}

/** @throws ConfigurationError without a key, or for one that is not of 32 bytes */
export function checkEncryptionKeys(keys: readonly Uint8Array[]): void {
  if (keys.length === 0) throw new ConfigurationError('keys: there must be one to seal credentials with');
  for (const key of keys) {
    if (!(key instanceof Uint8Array) || key.length !== ENCRYPTION_KEY_BYTES)
      throw new ConfigurationError(`keys: each must be a Uint8Array of ${ENCRYPTION_KEY_BYTES} random bytes`);
  }
}

/**
 * The key in a text as `openssl rand -base64 32` prints it; space around it does not count.
 * @throws ConfigurationError for what is not the base64 of 32 bytes; the message quotes nothing of it
 */
export function parseEncryptionKey(text: string): Uint8Array<ArrayBuffer> {
  const trimmed = text.trim();
  const bytes = isBase64(trimmed) ? decodeBase64(trimmed) : undefined;
  if (bytes?.length === ENCRYPTION_KEY_BYTES) return bytes;
  throw new ConfigurationError(
    `the encryption key must be the base64 of ${ENCRYPTION_KEY_BYTES} random bytes, as \`openssl rand -base64 32\` prints it`,
  );
}
