import { EventloomError } from './eventloom-error.ts';

/** A state key is empty, longer than 256 bytes or holds a NUL character. */
export class StateKeyError extends EventloomError {
  static override readonly code = 'STATE_KEY';
}
