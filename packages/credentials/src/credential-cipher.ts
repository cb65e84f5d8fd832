import { type AuthCredential, ConfigurationError, type CredentialKey, decodeBase64 } from '@eventloom/core';
import { describeKind, isBase64 } from '@eventloom/core/internal';
import { parseStoredCredential, type SealedCredential } from './credential-store.ts';
import { SealedCredentialError } from './errors.ts';

const EMPTY_KEYS =
  'keys: expected at least one key, got an empty list; write keys: [key], with a key that openssl rand -base64 32 created';

/** The rule for the option `keys`. */
export const KEYS_RULE = {
  is: 'list',
  write: '[parseEncryptionKey(text)], with the text that openssl rand -base64 32 prints',
} as const;

/** Length of the AES-GCM nonce. Each nonce is used once and stored before the ciphertext. */
const NONCE_BYTES = 12;

/** An imported WebCrypto key, and its id. */
interface NamedKey {
  readonly id: string;
  readonly key: CryptoKey;
}

/**
 * Encrypts and decrypts credentials with AES-256-GCM. App, user and name are authenticated with the credential, so it
 * can be decrypted only for the same app, user and name.
 */
export class CredentialCipher {
  readonly #keys: readonly Uint8Array<ArrayBuffer>[];
  #imported: Promise<readonly NamedKey[]> | undefined;

  /** @throws ConfigurationError without a key, or for a key that does not have 32 bytes */
  constructor(keys: readonly Uint8Array[]) {
    checkEncryptionKeys(keys);
    this.#keys = keys.map((key) => Uint8Array.from(key));
  }

  async seal(owner: CredentialKey, credential: AuthCredential): Promise<SealedCredential> {
    const [current] = await this.#import();
    if (!current) throw new ConfigurationError(EMPTY_KEYS);
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const text = new TextEncoder().encode(JSON.stringify(credential));
    const ciphertext = new Uint8Array(await crypto.subtle.encrypt(algorithm(owner, nonce), current.key, text));
    const sealed = new Uint8Array(NONCE_BYTES + ciphertext.length);
    sealed.set(nonce);
    sealed.set(ciphertext, NONCE_BYTES);
    return { keyId: current.id, sealed };
  }

  /** Decrypts a credential; undefined if its key is not among the given keys. @throws SealedCredentialError if it was altered */
  async open(owner: CredentialKey, { keyId, sealed }: SealedCredential): Promise<AuthCredential | undefined> {
    const found = (await this.#import()).find(({ id }) => id === keyId);
    if (!found) return undefined;
    const bytes = Uint8Array.from(sealed);
    const nonce = bytes.subarray(0, NONCE_BYTES);
    try {
      const text = await crypto.subtle.decrypt(algorithm(owner, nonce), found.key, bytes.subarray(NONCE_BYTES));
      const credential = parseStoredCredential(JSON.parse(new TextDecoder().decode(text)));
      if (credential) return credential;
    } catch {
      // The error has no cause, because the original one may quote decrypted text.
    }
    throw new SealedCredentialError(
      'the stored credential cannot be decrypted; add the key that it was saved with to keys, or save another credential, or delete it',
    );
  }

  #import(): Promise<readonly NamedKey[]> {
    return (this.#imported ??= Promise.all(this.#keys.map(importKey)).catch((error: unknown) => {
      // The next call imports the keys again.
      this.#imported = undefined;
      throw error;
    }));
  }
}

async function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<NamedKey> {
  const key = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
  return { id: await idOf(bytes), key };
}

/** Returns an id of the key, from its digest. The id reveals nothing, because a random key cannot be guessed from its digest. */
async function idOf(key: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', key));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function algorithm({ appName, userId, credentialKey }: CredentialKey, iv: Uint8Array<ArrayBuffer>): AesGcmParams {
  const additionalData = new TextEncoder().encode(JSON.stringify([appName, userId, credentialKey]));
  return { name: 'AES-GCM', iv, additionalData };
}

/** Length of an AES-256 key. */
const ENCRYPTION_KEY_BYTES = 32;

/** Creates a new key of 32 random bytes. */
export function createEncryptionKey(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(ENCRYPTION_KEY_BYTES));
}

/** Checks the keys. @throws ConfigurationError if there is no key, or a key does not have 32 bytes */
export function checkEncryptionKeys(keys: readonly Uint8Array[]): void {
  if (!Array.isArray(keys))
    throw new ConfigurationError(
      `keys: expected a list of keys, got ${describeKind(keys)}; write keys: [parseEncryptionKey(text)], with the text that openssl rand -base64 32 prints`,
    );
  if (keys.length === 0) throw new ConfigurationError(EMPTY_KEYS);
  for (const key of keys) {
    if (!(key instanceof Uint8Array) || key.length !== ENCRYPTION_KEY_BYTES)
      throw new ConfigurationError(
        `keys: expected Uint8Arrays of ${ENCRYPTION_KEY_BYTES} random bytes each; write keys: [parseEncryptionKey(text)], with the text that openssl rand -base64 32 prints`,
      );
  }
}

/**
 * Parses a key from base64, as `openssl rand -base64 32` prints it. Surrounding white space is ignored.
 * @throws ConfigurationError if the text is not the base64 of 32 bytes; the message does not quote the text
 */
export function parseEncryptionKey(text: string): Uint8Array<ArrayBuffer> {
  const trimmed = typeof text === 'string' ? text.trim() : '';
  const bytes = trimmed !== '' && isBase64(trimmed) ? decodeBase64(trimmed) : undefined;
  if (bytes?.length === ENCRYPTION_KEY_BYTES) return bytes;
  throw new ConfigurationError(
    `encryption key: expected the base64 of ${ENCRYPTION_KEY_BYTES} random bytes, got ${typeof text === 'string' ? 'another text' : describeKind(text)}; create one with \`openssl rand -base64 32\``,
  );
}
