import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/** What is remembered stays locked by another writer; nothing was changed. Retryable. */
export class MemoryBusyError extends EventloomError {
  static override readonly code = 'MEMORY_BUSY';

  constructor(message: string, options: EventloomErrorOptions = {}) {
    super(message, { retryable: true, ...options });
  }
}
