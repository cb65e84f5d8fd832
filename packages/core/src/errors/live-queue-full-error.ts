import { EventloomError } from './eventloom-error.ts';

/**
 * A send did not fit into the live request queue, and was not taken. Wait for `queue.ready()` and send again, or leave out what is
 * old by then.
 */
export class LiveQueueFullError extends EventloomError {
  static override readonly code = 'LIVE_QUEUE_FULL';
}
