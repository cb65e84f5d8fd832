import { EventloomError } from './eventloom-error.ts';

/** An instruction names a state key or artifact that is not there and is not optional. */
export class MissingStateKeyError extends EventloomError {
  static override readonly code = 'MISSING_STATE_KEY';
}
