import { EventloomError } from '@eventloom/core';

/** A graph came to its `maxSteps` and had nodes left to run: a loop that does not end, or a bound that is too low. */
export class StepLimitError extends EventloomError {
  static override readonly code = 'STEP_LIMIT';
}
