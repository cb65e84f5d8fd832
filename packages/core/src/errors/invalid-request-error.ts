import { EventloomError } from './eventloom-error.ts';

/** A call to a service has a missing or malformed argument; nothing was changed. */
export class InvalidRequestError extends EventloomError {
  static override readonly code = 'INVALID_REQUEST';
}
