import {
  type AuthCredential,
  BaseCredentialService,
  type CredentialKey,
  type SaveCredentialRequest,
} from '@eventloom/core';
import { storageFailure, type OptionRules, checkOptions } from '@eventloom/core/internal';
import { CredentialCipher, KEYS_RULE } from './credential-cipher.ts';
import { checkCredentialKey, copyCredential, type CredentialStore } from './credential-store.ts';

/** The keys that credentials are encrypted with. */
export interface EncryptionOptions {
  /**
   * Keys of 32 random bytes; create one with `createEncryptionKey`, or read one with `parseEncryptionKey`. The first
   * key encrypts new credentials; all keys decrypt stored ones. A credential whose key is missing counts as absent, and
   * the user is asked again.
   */
  readonly keys: readonly Uint8Array[];
}

/** Options of `EncryptedCredentialService`. */
export interface EncryptedCredentialServiceOptions extends EncryptionOptions {
  readonly store: CredentialStore;
}

const OPTIONS: OptionRules<EncryptedCredentialServiceOptions> = { store: 'object', keys: KEYS_RULE };

/**
 * Stores encrypted credentials in a `CredentialStore`. Each is authenticated together with its app, user and name, so a
 * person who can write to the store can neither alter a credential nor give it to another user. A person who can read
 * the store learns the users, the names and the approximate lengths. Errors of the store become the `cause` of a
 * StorageError, except Eventloom errors and programming errors such as a TypeError.
 *
 * To change the key, put a new one first. Each credential is encrypted with the new key the next time it is saved.
 */
export class EncryptedCredentialService extends BaseCredentialService {
  readonly #store: CredentialStore;
  readonly #cipher: CredentialCipher;

  /** @throws ConfigurationError without a key, for a key that does not have 32 bytes, and for an option this version does not have */
  constructor(options: EncryptedCredentialServiceOptions) {
    super();
    checkOptions('EncryptedCredentialService', OPTIONS, options);
    const { store, keys } = options;
    this.#store = store;
    this.#cipher = new CredentialCipher(keys);
  }

  /** Loads and decrypts a credential. @throws SealedCredentialError if the stored credential was altered, or belongs to another user */
  override async loadCredential(key: CredentialKey): Promise<AuthCredential | undefined> {
    checkCredentialKey(key);
    const found = await this.#ask((store) => store.load(key));
    return found && this.#cipher.open(key, found);
  }

  override async saveCredential({ credential, ...key }: SaveCredentialRequest): Promise<void> {
    checkCredentialKey(key);
    const sealed = await this.#cipher.seal(key, copyCredential(credential));
    await this.#ask((store) => store.save(key, sealed));
  }

  override async deleteCredential(key: CredentialKey): Promise<void> {
    checkCredentialKey(key);
    await this.#ask((store) => store.delete(key));
  }

  async #ask<T>(work: (store: CredentialStore) => Promise<T>): Promise<T> {
    try {
      return await work(this.#store);
    } catch (error) {
      throw storageFailure('the credential storage', error);
    }
  }
}
