import { EventloomError } from './eventloom-error.ts';

/** The writer's lease was taken over or released; the write changed nothing. */
export class StaleWriterError extends EventloomError {
  static override readonly code = 'STALE_WRITER';
}
