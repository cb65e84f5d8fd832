import { EventloomError } from './eventloom-error.ts';

/** The new message of a run cannot be accepted; nothing was written. */
export class InvalidMessageError extends EventloomError {
  static override readonly code = 'INVALID_MESSAGE';
}
