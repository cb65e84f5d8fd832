import { EventloomError } from '@eventloom/core';

/** The address is for WebSockets, and the request asks for none. */
export class UpgradeRequiredError extends EventloomError {
  static override readonly code = 'UPGRADE_REQUIRED';
}
