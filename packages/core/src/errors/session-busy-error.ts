import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/** Another run or writer holds the session and this one did not get its turn in time. Retryable. */
export class SessionBusyError extends EventloomError {
  static override readonly code = 'SESSION_BUSY';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
