import type { BaseAgent, BaseTool, CallbackContext, InvocationContext, ToolContext } from '@eventloom/core';

/** The parameter of all callbacks of a run. */
export interface OfRun {
  readonly invocationContext: InvocationContext;
}

/** The parameter of all callbacks of an agent and its model. */
export interface OfAgent {
  readonly agent?: BaseAgent;
  readonly callbackContext: CallbackContext;
}

/** The parameters of all callbacks of a tool call. */
export interface OfToolCall {
  readonly tool: BaseTool;
  readonly toolArgs: Record<string, unknown>;
  readonly toolContext: ToolContext;
}
