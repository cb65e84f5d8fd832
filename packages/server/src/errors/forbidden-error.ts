import { EventloomError } from '@eventloom/core';

/** The request names another user than the one it comes from, or comes from a place that the server does not answer. */
export class ForbiddenError extends EventloomError {
  static override readonly code = 'FORBIDDEN';
}
