import { EventloomError } from './eventloom-error.ts';

/** Agents handed over to each other more than `runConfig.maxLlmCalls` times, and no model was asked in between. */
export class HandOverLimitError extends EventloomError {
  static override readonly code = 'HAND_OVER_LIMIT';
}
