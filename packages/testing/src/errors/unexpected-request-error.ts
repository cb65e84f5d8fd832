import { EventloomError } from '@eventloom/core';

/** A fake server got a request that its script has no answer for. */
export class UnexpectedRequestError extends EventloomError {
  static override readonly code = 'UNEXPECTED_REQUEST';
}
