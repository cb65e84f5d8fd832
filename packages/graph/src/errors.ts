import { AgentError, EventloomError, type EventloomErrorOptions, toError } from '@eventloom/core';

/**
 * A node of a graph failed in its last attempt: its code threw (`cause`), or a value did not match its schema. The run
 * fails with this error.
 */
export class NodeError extends EventloomError {
  static override readonly code: string = 'NODE';
  /** The name of the node that failed. */
  readonly nodeName: string;

  constructor(nodeName: string, message: string, options?: EventloomErrorOptions) {
    super(`node "${nodeName}": ${message}`, options);
    this.nodeName = nodeName;
  }
}

/** Returns an Eventloom error unchanged, and anything else as the `cause` of a NodeError. */
export function toNodeError(nodeName: string, thrown: unknown): EventloomError {
  if (EventloomError.isInstance(thrown)) return thrown;
  const { publicMessage } = AgentError.around(thrown, `node "${nodeName}"`);
  const { message, name } = toError(thrown);
  return new NodeError(nodeName, message || name, { cause: thrown, publicMessage });
}

/** One attempt of a node took longer than its `timeoutMs`. The node's `retry` decides whether it is tried again. */
export class NodeTimeoutError extends NodeError {
  static override readonly code = 'NODE_TIMEOUT';

  constructor(nodeName: string, timeoutMs: number) {
    super(nodeName, `took longer than ${timeoutMs} ms`, { retryable: true });
  }
}

/** A graph reached its `maxSteps` with nodes left to run: a loop that does not end, or a limit that is too low. */
export class StepLimitError extends EventloomError {
  static override readonly code = 'STEP_LIMIT';
}

/** Stops the function of a node that waits for an answer. Do not catch it. */
export class NodeInterrupt extends EventloomError {
  static override readonly code = 'NODE_INTERRUPT';
}
