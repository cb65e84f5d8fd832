import { EventloomError } from '@eventloom/core';

/** A script has steps that nothing asked for. */
export class UnconsumedStepsError extends EventloomError {
  static override readonly code = 'UNCONSUMED_STEPS';
}
