import { type AuthCredential, copyJson, type CredentialKey, checkName, InvalidRequestError } from '@eventloom/core';

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
