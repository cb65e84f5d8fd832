import { EventloomError } from '@eventloom/core';

/** The process that ran the run is gone, or gave no sign of life for too long. What was committed is in the session. */
export class RunHostLostError extends EventloomError {
  static override readonly code = 'RUN_HOST_LOST';
}
