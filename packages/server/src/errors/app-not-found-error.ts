import { EventloomError } from '@eventloom/core';

/** The server has no app of this name. */
export class AppNotFoundError extends EventloomError {
  static override readonly code = 'APP_NOT_FOUND';
}
