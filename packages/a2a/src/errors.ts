import { EventloomError } from '@eventloom/core';

/** The reasons of refused requests in A2A 1.0 and in JSON-RPC, with their codes. */
export const REQUEST_CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32007,
  VERSION_NOT_SUPPORTED: -32009,
} as const;

type RequestReason = keyof typeof REQUEST_CODES;

/** A request that is refused with an error that A2A defines. The answer is an error of JSON-RPC. Not retryable. */
export class A2ARequestError extends EventloomError {
  static override readonly code = 'A2A_REQUEST';
  /** The reason as A2A 1.0 names it, such as `TASK_NOT_FOUND`. */
  readonly reason: RequestReason;

  constructor(reason: RequestReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The A2A server cannot be reached, did not answer in time, refused the request, or ended the connection. Retryable. */
export class A2AConnectionError extends EventloomError {
  static override readonly code = 'A2A_CONNECTION';
  static override readonly retryable = true;
}

/**
 * A card, a message or an answer does not match the specification of A2A, or the server answered with an error of the
 * protocol. Not retryable.
 */
export class A2AProtocolError extends EventloomError {
  static override readonly code = 'A2A_PROTOCOL';
}

/** The A2A server sent more than the agent accepts. Not retryable. */
export class A2ALimitError extends EventloomError {
  static override readonly code = 'A2A_LIMIT';
}

/** The task of the remote agent failed, or was cancelled or rejected. The message quotes the remote agent. Not retryable. */
export class A2ATaskError extends EventloomError {
  static override readonly code = 'A2A_TASK';
}
