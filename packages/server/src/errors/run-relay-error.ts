import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** A run of another process cannot be found or followed here at the moment; the run itself is none the worse. Retryable. */
export class RunRelayError extends EventloomError {
  static override readonly code = 'RUN_RELAY';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
