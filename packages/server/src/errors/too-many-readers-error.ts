import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** As many readers follow the run as the server serves. Retryable. */
export class TooManyReadersError extends EventloomError {
  static override readonly code = 'TOO_MANY_READERS';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
