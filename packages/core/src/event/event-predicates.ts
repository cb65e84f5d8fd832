import type { FunctionCall, FunctionResponse } from '../content/content.ts';
import { type Event, ObjectType } from './event.ts';
import { OutputSchemaError } from '../errors.ts';

/** The function calls of an event, in order. */
export function getFunctionCalls(event: Event): FunctionCall[] {
  const calls: FunctionCall[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionCall) calls.push(part.functionCall);
  return calls;
}

/** The function responses of an event, in order. */
export function getFunctionResponses(event: Event): FunctionResponse[] {
  const responses: FunctionResponse[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionResponse) responses.push(part.functionResponse);
  return responses;
}

/** True for an answer that did not match the output schema, and not for the event that tells of the run's end over it. */
export function isOutputMismatch(event: Event): boolean {
  return event.errorCode === OutputSchemaError.code && event.object !== ObjectType.error;
}

/** True when the last part is the result of executed code, which the model still has to speak about. */
export function hasTrailingCodeExecutionResult(event: Event): boolean {
  return event.content?.parts?.at(-1)?.codeExecutionResult !== undefined;
}

/**
 * True when the event is something to show the user as the answer of a turn.
 *
 * A state-only or signal-only event never is. Function responses are when the model is told not to summarise them, and calls
 * are when one of them goes on in the background. (ADK events document, "is_final_response".)
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

/** True for the event that ends a run, when the run was asked to say so. */
export function isRunnerCompletion(event: Event): boolean {
  return event.object === ObjectType.runnerCompletion;
}

/** trpc-agent-go's `Done`: a whole reply (content or error) that calls no function. */
export function isDoneResponse(event: Event): boolean {
  if (event.partial === true) return false;
  if (event.content?.parts?.some((part) => part.functionCall)) return false;
  return Boolean(event.content?.parts?.length) || event.errorCode !== undefined || event.error !== undefined;
}
