import { checkName } from '../session/check-name.ts';
import type { AuthCredential } from './auth-config.ts';
import { BaseCredentialService, type CredentialKey, type SaveCredentialRequest } from './credential-service.ts';

/** Credentials in the memory of this process: gone when it ends, and then asked for again. */
export class InMemoryCredentialService extends BaseCredentialService {
  readonly #credentials = new Map<string, AuthCredential>();

  override async loadCredential(key: CredentialKey): Promise<AuthCredential | undefined> {
    return structuredClone(this.#credentials.get(nameOf(key)));
  }

  override async saveCredential({ credential, ...key }: SaveCredentialRequest): Promise<void> {
    this.#credentials.set(nameOf(key), structuredClone(credential));
  }

  override async deleteCredential(key: CredentialKey): Promise<void> {
    this.#credentials.delete(nameOf(key));
  }
}

function nameOf({ appName, userId, credentialKey }: CredentialKey): string {
  checkName('appName', appName);
  checkName('userId', userId);
  checkName('credentialKey', credentialKey);
  return `${appName}\0${userId}\0${credentialKey}`;
}
