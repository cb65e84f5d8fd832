import { EventloomError } from '@eventloom/core';

/** The run is here, and the events that were asked for are not kept any more. What was committed is in the session. */
export class RunEventsGoneError extends EventloomError {
  static override readonly code = 'RUN_EVENTS_GONE';
}
