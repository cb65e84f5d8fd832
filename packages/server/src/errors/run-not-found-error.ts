import { EventloomError } from '@eventloom/core';

/** The server does not know the run, or not any more. What was committed is in the session. */
export class RunNotFoundError extends EventloomError {
  static override readonly code = 'RUN_NOT_FOUND';
}
