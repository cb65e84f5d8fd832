import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/** What is known of a connection that ended. */
export interface LiveConnectionErrorOptions extends EventloomErrorOptions {
  /** The WebSocket's close code, when there was one: 1006 for a network that died, 1008 and 1007 for a refused setup, 1011. */
  readonly closeCode?: number | undefined;
  /** True when the same may succeed when it is tried again; false for a setup that the service refuses. */
  readonly isRetryable: boolean;
  /**
   * True when the service took the request but for its `sessionResumption.handle`, which it does not know (any more): a connection
   * without one may succeed. Default false.
   */
  readonly isHandleRefused?: boolean | undefined;
  /**
   * The service's own code where what it said passes by itself, e.g. `RESOURCE_EXHAUSTED`: becomes `errorCode` of the error event. Default: none,
   * and the event says `LIVE_CONNECTION`.
   */
  readonly errorCode?: string | undefined;
}

/** A live connection to a model could not be made, or ended before it was closed. The message is the service's own, where it said one. */
export class LiveConnectionError extends EventloomError {
  static override readonly code = 'LIVE_CONNECTION';
  readonly closeCode: number | undefined;
  readonly isRetryable: boolean;
  readonly isHandleRefused: boolean;
  readonly errorCode: string | undefined;

  constructor(message: string, options: LiveConnectionErrorOptions) {
    super(message, options);
    this.closeCode = options.closeCode;
    this.isRetryable = options.isRetryable;
    this.isHandleRefused = options.isHandleRefused ?? false;
    this.errorCode = options.errorCode;
  }
}
