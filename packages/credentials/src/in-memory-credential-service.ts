import {
  type AuthCredential,
  BaseCredentialService,
  type CredentialKey,
  type SaveCredentialRequest,
} from '@eventloom/core';
import { checkCredentialKey, copyCredential } from './credential-store.ts';

/**
 * Keeps credentials in the memory of this process. They are lost when it ends, and users are asked for them again.
 *
 * @example
 * const runner = new Runner({ appName, agent, sessionService, credentialService: new InMemoryCredentialService() });
 */
export class InMemoryCredentialService extends BaseCredentialService {
  readonly #credentials = new Map<string, AuthCredential>();

  override async loadCredential(key: CredentialKey): Promise<AuthCredential | undefined> {
    return structuredClone(this.#credentials.get(nameOf(key)));
  }

  override async saveCredential(request: SaveCredentialRequest): Promise<void> {
    this.#credentials.set(nameOf(request), copyCredential(request.credential));
  }

  override async deleteCredential(key: CredentialKey): Promise<void> {
    this.#credentials.delete(nameOf(key));
  }
}

/** Returns the key of a credential in the map. The separator is unique, because no name contains NUL. */
function nameOf(key: CredentialKey): string {
  checkCredentialKey(key);
  return `${key.appName}\0${key.userId}\0${key.credentialKey}`;
}
