import { EventloomError } from '@eventloom/core';

/** The body of a request has more bytes than the server takes; nothing was changed. */
export class BodyTooLargeError extends EventloomError {
  static override readonly code = 'BODY_TOO_LARGE';
}
