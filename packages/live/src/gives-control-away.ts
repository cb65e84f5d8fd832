import { type FunctionCall, type InvocationContext, isTransfer, TASK_COMPLETED } from '@eventloom/core';

/** True for a call by which an agent of a sequence says that its part is done. An agent's own tool may have the name elsewhere. */
export function isCompletion(call: FunctionCall, { extraTools }: InvocationContext): boolean {
  return call.name === TASK_COMPLETED && extraTools.some(({ name }) => name === TASK_COMPLETED);
}

/** True for a call after which another agent is to have the conversation, when it succeeds. */
export function givesControlAway(call: FunctionCall, context: InvocationContext): boolean {
  return isTransfer(call) || isCompletion(call, context);
}
