import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** A reader took a run's events more slowly than they can be kept, and was let go. The run goes on; reconnecting is possible. */
export class SlowReaderError extends EventloomError {
  static override readonly code = 'SLOW_READER';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
