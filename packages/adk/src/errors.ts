import { EventloomError } from '@eventloom/core';

/** A name of @google/adk was used that Eventloom does not have. The message says what to write instead. */
export class NotOfferedError extends EventloomError {
  static override readonly code = 'ADK_NOT_OFFERED';
}

/** A credential was not exchanged for a token. */
export class CredentialExchangeError extends EventloomError {
  static override readonly code = 'CREDENTIAL_EXCHANGE';
}
