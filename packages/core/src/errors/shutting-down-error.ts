import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/**
 * The process is about to end: it takes no new run, or stopped one after a commit. Retryable, elsewhere or later. As the reason of a
 * run's `abortSignal` it says that a resumable run is to go on later.
 */
export class ShuttingDownError extends EventloomError {
  static override readonly code = 'SHUTTING_DOWN';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
