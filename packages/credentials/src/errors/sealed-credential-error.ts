import { EventloomError } from '@eventloom/core';

/**
 * What is stored of a credential cannot be opened with the key that it was sealed with: it was changed, or it is another user's.
 * Not to be retried; another credential can be saved in its place, or it can be deleted.
 */
export class SealedCredentialError extends EventloomError {
  static override readonly code = 'SEALED_CREDENTIAL';
}
