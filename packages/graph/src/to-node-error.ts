import { AgentError, EventloomError } from '@eventloom/core';
import { NodeError } from './errors/node-error.ts';

/** The failure of a node: Eventloom's own errors as they are, anything else as the cause of a NodeError. */
export function toNodeError(nodeName: string, thrown: unknown): EventloomError {
  if (EventloomError.isInstance(thrown)) return thrown;
  const { message, publicMessage } = AgentError.around(thrown, `node "${nodeName}"`);
  return new NodeError(nodeName, message, { cause: thrown, publicMessage });
}
