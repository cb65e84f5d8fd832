import { EventloomError } from './eventloom-error.ts';

/** A session was created with an id that is taken; the existing one is untouched. */
export class SessionAlreadyExistsError extends EventloomError {
  static override readonly code = 'SESSION_ALREADY_EXISTS';
}
