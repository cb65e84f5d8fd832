import { NodeError } from './node-error.ts';

/** An attempt of a node took longer than its `timeoutMs`. It is tried again as the node's `retry` says. */
export class NodeTimeoutError extends NodeError {
  static override readonly code = 'NODE_TIMEOUT';

  constructor(nodeName: string, timeoutMs: number) {
    super(nodeName, `took longer than ${timeoutMs} ms`, { retryable: true });
  }
}
