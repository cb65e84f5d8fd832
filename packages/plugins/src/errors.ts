import { EventloomError } from '@eventloom/core';

/**
 * A stored function call does not match its integrity stamp, or has none: another program than this application changed the session. Not
 * retryable. The call is not run, and the run fails.
 */
export class ToolCallIntegrityError extends EventloomError {
  static override readonly code = 'TOOL_CALL_INTEGRITY';
}
