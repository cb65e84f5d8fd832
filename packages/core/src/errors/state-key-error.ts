import { EventloomError } from './eventloom-error.ts';

/** A state key is empty, longer than 256 bytes, holds a NUL character, or is not well-formed Unicode. */
export class StateKeyError extends EventloomError {
  static override readonly code = 'STATE_KEY';
}
