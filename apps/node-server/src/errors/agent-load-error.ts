import { EventloomError } from '@eventloom/core';

/** A folder's agent could not be loaded. */
export class AgentLoadError extends EventloomError {
  static override readonly code = 'AGENT_LOAD';
}
