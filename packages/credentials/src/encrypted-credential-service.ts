import {
  type AuthCredential,
  BaseCredentialService,
  type CredentialKey,
  type SaveCredentialRequest,
} from '@eventloom/core';
import { storageFailure, type OptionNames, checkKnown } from '@eventloom/core/internal';
import { CredentialCipher } from './credential-cipher.ts';
import { checkCredentialKey, copyCredential, type CredentialStore } from './credential-store.ts';

/** The keys that credentials are encrypted with. */
export interface EncryptionOptions {
  /**
   * Keys of 32 random bytes; `createEncryptionKey` makes one, `parseEncryptionKey` reads one. The first seals what is saved from
   * now on, the others open what was sealed with them. What was sealed with a key that is not among them counts as absent, and
   * users are asked again.
   */
  readonly keys: readonly Uint8Array[];
}

/** Options of `EncryptedCredentialService`. */
export interface EncryptedCredentialServiceOptions extends EncryptionOptions {
  readonly store: CredentialStore;
}

const OPTIONS: OptionNames<EncryptedCredentialServiceOptions> = { store: true, keys: true };

/**
 * Credentials in a store that cannot read them: each is encrypted and authenticated together with the app, the user and the name it
 * is for, so who can write to the store can neither change one nor hand it to another user. Who can read the store learns whose
 * credentials there are, their names and about how long they are. What the store throws becomes the `cause` of a StorageError, unless it is
 * an Eventloom error or a fault of the program, such as a TypeError.
 *
 * A key is changed by putting a new one first. Each credential is sealed with it when it is saved next.
 */
export class EncryptedCredentialService extends BaseCredentialService {
  readonly #store: CredentialStore;
  readonly #cipher: CredentialCipher;

  /** @throws ConfigurationError without a key, for one that is not of 32 bytes, and for an option this version does not have */
  constructor(options: EncryptedCredentialServiceOptions) {
    super();
    checkKnown('EncryptedCredentialService', OPTIONS, options);
    const { store, keys } = options;
    this.#store = store;
    this.#cipher = new CredentialCipher(keys);
  }

  /** @throws SealedCredentialError when what is stored was changed, or is another user's */
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
