import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/**
 * The object of the user did not answer: it ended in the midst of the request, or has more to do than it can. What was asked for may have
 * been done, and a run that it began may go on. Retryable, unless the object is overloaded.
 */
export class UserObjectError extends EventloomError {
  static override readonly code = 'USER_OBJECT';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
