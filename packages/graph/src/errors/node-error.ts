import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

/** A node of a graph failed, after its last attempt: its code threw (`cause`), or a value did not fit. The run fails with it. */
export class NodeError extends EventloomError {
  static override readonly code: string = 'NODE';
  /** The node at fault. */
  readonly nodeName: string;

  constructor(nodeName: string, message: string, options?: EventloomErrorOptions) {
    super(`node "${nodeName}": ${message}`, options);
    this.nodeName = nodeName;
  }
}
