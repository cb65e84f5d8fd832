import { EventloomError } from '@eventloom/core';

/** A request was not what the script says it should be. */
export class UnmetExpectationError extends EventloomError {
  static override readonly code = 'UNMET_EXPECTATION';
}
