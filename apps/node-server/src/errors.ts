import { EventloomError } from '@eventloom/core';

/** The agent of a folder could not be loaded. */
export class AgentLoadError extends EventloomError {
  static override readonly code = 'AGENT_LOAD';
}

/** A text is not an arithmetic expression, or has no finite result. */
export class ExpressionError extends EventloomError {
  static override readonly code = 'EXPRESSION';
}

/** The command line names an unknown command or option, or uses one in a wrong way. */
export class UsageError extends EventloomError {
  static override readonly code = 'USAGE';
}
