import { EventloomError } from '@eventloom/core';

/** The address exists and does not take this method. */
export class MethodNotAllowedError extends EventloomError {
  static override readonly code = 'METHOD_NOT_ALLOWED';
}
