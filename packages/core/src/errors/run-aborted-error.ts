import { EventloomError } from './eventloom-error.ts';

/** The run was aborted by its signal; whatever was committed stays. */
export class RunAbortedError extends EventloomError {
  static override readonly code = 'RUN_ABORTED';
}
