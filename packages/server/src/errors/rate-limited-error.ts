import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** The user, or the address that names none, sent more requests than the rate limit allows. Retryable. */
export class RateLimitedError extends EventloomError {
  static override readonly code = 'RATE_LIMITED';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
