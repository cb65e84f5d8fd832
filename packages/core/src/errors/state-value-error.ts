import { EventloomError } from './eventloom-error.ts';

/** A state value is not JSON; the message names the path at fault. */
export class StateValueError extends EventloomError {
  static override readonly code = 'STATE_VALUE';
}
