import { EventloomError } from '@eventloom/core';

/**
 * A stored function call does not match its integrity stamp, or has none, because another program changed the session. The call is not run,
 * and the run fails. Not retryable.
 */
export class ToolCallIntegrityError extends EventloomError {
  static override readonly code = 'TOOL_CALL_INTEGRITY';
}
