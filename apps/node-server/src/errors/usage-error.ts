import { EventloomError } from '@eventloom/core';

/** The command line asks for something that does not exist, or not in this way. */
export class UsageError extends EventloomError {
  static override readonly code = 'USAGE';
}
