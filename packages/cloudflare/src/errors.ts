import { EventloomError } from '@eventloom/core';

/** The Durable Object that keeps an app's state gave no usable answer. The update is sent again later. Retryable. */
export class AppStateUnreachableError extends EventloomError {
  static override readonly code = 'APP_STATE_UNREACHABLE';
  static override readonly retryable = true;
}

/**
 * The user's Durable Object did not answer: it stopped during the request, or is overloaded. The requested operation may have been
 * done, and a run that it began may continue. Retryable, unless the object is overloaded.
 */
export class UserObjectError extends EventloomError {
  static override readonly code = 'USER_OBJECT';
  static override readonly retryable = true;
}
