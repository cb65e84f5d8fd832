import type { FunctionCall, FunctionResponse } from '../content/content.ts';
import { type Event, ObjectType } from './event.ts';
import { OutputSchemaError } from '../errors.ts';

/** Returns the function calls of an event, in order; empty if it has none. */
export function getFunctionCalls(event: Event): FunctionCall[] {
  const calls: FunctionCall[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionCall) calls.push(part.functionCall);
  return calls;
}

/** Returns the function responses of an event, in order; empty if it has none. */
export function getFunctionResponses(event: Event): FunctionResponse[] {
  const responses: FunctionResponse[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionResponse) responses.push(part.functionResponse);
  return responses;
}

/** True for an answer that did not match the output schema. False for the error event that ends the run because of it. */
export function isOutputMismatch(event: Event): boolean {
  return event.errorCode === OutputSchemaError.code && event.object !== ObjectType.error;
}

/** True if the last part is the result of executed code, which the model has not answered yet. */
export function hasTrailingCodeExecutionResult(event: Event): boolean {
  return event.content?.parts?.at(-1)?.codeExecutionResult !== undefined;
}

/**
 * True if the event is an answer to show to the user.
 *
 * False for an event with only state or signals, for a chunk, and for a function call. A function response is a final
 * response only with `skipSummarization`, and an event with function calls only if one of them is long-running. (ADK events
 * document, "is_final_response".)
 */
export function isFinalResponse(event: Event): boolean {
  if (event.longRunningToolIds?.length) return true;
  const parts = event.content?.parts;
  const responds = parts?.some((part) => part.functionResponse) ?? false;
  if (responds) return event.actions.skipSummarization === true;
  if (event.partial === true || event.object === ObjectType.agentTransfer) return false;
  if (!parts?.length && event.errorCode === undefined && event.error === undefined) return false;
  return !parts?.some((part) => part.functionCall) && !hasTrailingCodeExecutionResult(event);
}

/** True for the `runner.completion` event that ends a run with `runConfig.completionEvent`. */
export function isRunnerCompletion(event: Event): boolean {
  return event.object === ObjectType.runnerCompletion;
}

/** True for a whole reply, content or error, without a function call. (trpc-agent-go, `Done`.) */
export function isDoneResponse(event: Event): boolean {
  if (event.partial === true) return false;
  if (event.content?.parts?.some((part) => part.functionCall)) return false;
  return Boolean(event.content?.parts?.length) || event.errorCode !== undefined || event.error !== undefined;
}
