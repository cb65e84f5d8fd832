import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** The object that keeps an app's state did not answer as it should. What it was to be told is told it later. Retryable. */
export class AppStateUnreachableError extends EventloomError {
  static override readonly code = 'APP_STATE_UNREACHABLE';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
