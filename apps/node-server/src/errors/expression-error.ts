import { EventloomError } from '@eventloom/core';

/** Text that should be arithmetic is none, or has no finite result. */
export class ExpressionError extends EventloomError {
  static override readonly code = 'EXPRESSION';
}
