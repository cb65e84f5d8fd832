import { EventloomError } from '@eventloom/core';

/**
 * The server shuts down, and the run that was read does not end with it: it goes on in its own process, or, when it is resumable, in the next
 * server, as `onUnfinishedRuns` there says. Not retryable: what the user said is stored. Follow the run under its name.
 */
export class RunGoesOnError extends EventloomError {
  static override readonly code = 'RUN_GOES_ON';
}
