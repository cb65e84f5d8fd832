import { EventloomError } from '@eventloom/core';

/** The server refused a request, or a run failed. `message` is the server's, and `serverCode` its code, e.g. `SESSION_BUSY`. */
export class ServerError extends EventloomError {
  static override readonly code = 'SERVER_RESPONSE';
  // Not that of the class, which bundlers shorten.
  override readonly name = 'ServerError';
  /** The HTTP status; 200 if the run failed after its stream had begun. */
  readonly status: number;
  /** The stable code of the server's error, e.g. `SESSION_NOT_FOUND`. `HTTP` if the answer is not one of an Eventloom server. */
  readonly serverCode: string;

  constructor(
    message: string,
    { status = 200, serverCode = 'HTTP' }: { readonly status?: number; readonly serverCode?: string | undefined } = {},
  ) {
    super(message, { retryable: [429, 502, 503, 504].includes(status) });
    this.status = status;
    this.serverCode = serverCode;
  }
}

/**
 * The server could not be reached, or the connection to a run was lost and could not be made again. A run continues on
 * the server: follow it later.
 */
export class ConnectionLostError extends EventloomError {
  static override readonly code = 'CONNECTION_LOST';
  static override readonly retryable = true;
  override readonly name = 'ConnectionLostError';
}
