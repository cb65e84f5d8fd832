import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** The server has as many runs as it takes; nothing was changed. Retryable. */
export class ServerBusyError extends EventloomError {
  static override readonly code = 'SERVER_BUSY';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
