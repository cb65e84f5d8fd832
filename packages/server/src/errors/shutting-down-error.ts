import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** The server is about to end: it takes no new run, or stopped one after a commit. Retryable, elsewhere or later. */
export class ShuttingDownError extends EventloomError {
  static override readonly code = 'SHUTTING_DOWN';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
