import { EventloomError } from '@eventloom/core';

/**
 * An address is not public: it belongs to this machine, to an internal network or to a cloud's metadata service, or it is not the URL of a
 * web page. Not retryable. Models get the message as the response of their call.
 */
export class AddressRefusedError extends EventloomError {
  static override readonly code = 'ADDRESS_REFUSED';
}
