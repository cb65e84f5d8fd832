import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/**
 * An OpenAPI document cannot be read: it is not JSON or YAML, has another version than 3.0 and 3.1, is too large, or has a malformed part.
 * `pointer` says where. Not retryable.
 */
export class OpenApiDocumentError extends EventloomError {
  static override readonly code = 'OPENAPI_DOCUMENT';
  /** The place in the document, as a JSON pointer in a URI fragment: `#/paths/~1pets/get/operationId`. */
  readonly pointer: string;

  constructor(pointer: string, message: string, options: EventloomErrorOptions = {}) {
    super(`OpenAPI document, ${pointer}: ${message}`, options);
    this.pointer = pointer;
  }
}

/** An API call cannot be sent, or its response cannot be used. Models get the message as the response of their call. */
export class ApiCallError extends EventloomError {
  static override readonly code = 'API_CALL';
}
