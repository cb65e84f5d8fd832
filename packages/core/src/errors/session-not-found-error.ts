import { EventloomError } from './eventloom-error.ts';

/** The session does not exist, or belongs to somebody else, which looks the same. */
export class SessionNotFoundError extends EventloomError {
  static override readonly code = 'SESSION_NOT_FOUND';
}
