import { EventloomError } from '@eventloom/core';

/** Thrown by `assertConsumed` if a script has steps that were not requested. */
export class UnconsumedStepsError extends EventloomError {
  static override readonly code = 'UNCONSUMED_STEPS';
}

/** A scripted model was called after the last step of its script. */
export class UnexpectedModelCallError extends EventloomError {
  static override readonly code = 'UNEXPECTED_MODEL_CALL';
}

/** A fake server received a request for which its script has no response. */
export class UnexpectedRequestError extends EventloomError {
  static override readonly code = 'UNEXPECTED_REQUEST';
}

/** A request did not match what the script expects. */
export class UnmetExpectationError extends EventloomError {
  static override readonly code = 'UNMET_EXPECTATION';
}
