import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/** The storage of credentials stays locked by another writer; nothing was changed. Retryable. */
export class CredentialBusyError extends EventloomError {
  static override readonly code = 'CREDENTIAL_BUSY';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
