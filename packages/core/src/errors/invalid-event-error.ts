import { EventloomError } from './eventloom-error.ts';

/** Something that should be an event is not one; the message names the path at fault. */
export class InvalidEventError extends EventloomError {
  static override readonly code = 'INVALID_EVENT';
}
