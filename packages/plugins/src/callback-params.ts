import type { BaseTool, CallbackContext, InvocationContext, ToolContext } from '@eventloom/core';

/** The parameter that all callbacks of a run have. */
export interface OfRun {
  readonly invocationContext: InvocationContext;
}

/** The parameter that all callbacks of an agent and its model have. */
export interface OfAgent {
  readonly callbackContext: CallbackContext;
}

/** The parameters that all callbacks of a tool call have. */
export interface OfToolCall {
  readonly tool: BaseTool;
  readonly toolArgs: Record<string, unknown>;
  readonly toolContext: ToolContext;
}
