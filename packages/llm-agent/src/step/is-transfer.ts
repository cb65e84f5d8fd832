import { type FunctionCall, TRANSFER_TO_AGENT } from '@eventloom/core';

/** True for a call by which a model hands the conversation over. */
export function isTransfer(call: FunctionCall | undefined): boolean {
  return call?.name === TRANSFER_TO_AGENT;
}
