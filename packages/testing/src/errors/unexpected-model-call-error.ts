import { EventloomError } from '@eventloom/core';

/** A scripted model was called more often than its script has steps. */
export class UnexpectedModelCallError extends EventloomError {
  static override readonly code = 'UNEXPECTED_MODEL_CALL';
}
