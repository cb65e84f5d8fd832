import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/** What a model back end reports of a failed call. */
export interface ModelErrorOptions extends EventloomErrorOptions {
  /** The service's own code, e.g. `RESOURCE_EXHAUSTED`; becomes `errorCode` of the error event. */
  readonly errorCode: string;
  /** HTTP status, when there was one. */
  readonly status?: number;
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** A model call failed at the service or on the way to it. The message is the service's own. */
export class ModelError extends EventloomError {
  static override readonly code = 'MODEL';
  readonly errorCode: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ModelErrorOptions) {
    super(message, options);
    this.errorCode = options.errorCode;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}
