import { EventloomError } from '@eventloom/core';

/**
 * A stored credential cannot be decrypted: it was altered, belongs to another user, or was encrypted with another key.
 * Not retryable; save another credential in its place, or delete it.
 */
export class SealedCredentialError extends EventloomError {
  static override readonly code = 'SEALED_CREDENTIAL';
}
