import { EventloomError } from '@eventloom/core';

/** Stops the function of a node that waits for an answer. It needs no handling: let it pass. */
export class NodeInterrupt extends EventloomError {
  static override readonly code = 'NODE_INTERRUPT';
}
