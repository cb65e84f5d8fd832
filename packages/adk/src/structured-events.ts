import {
  type CodeExecutionResult,
  type Event,
  type ExecutableCode,
  type FunctionCall,
  type FunctionResponse,
} from '@eventloom/core';
import { isRecord, notAnEvent } from '@eventloom/core/internal';

/** The kinds of structured events. */
export const EventType = {
  THOUGHT: 'thought',
  CONTENT: 'content',
  TOOL_CALL: 'tool_call',
  TOOL_RESULT: 'tool_result',
  CALL_CODE: 'call_code',
  CODE_RESULT: 'code_result',
  ERROR: 'error',
  ACTIVITY: 'activity',
  TOOL_CONFIRMATION: 'tool_confirmation',
  FINISHED: 'finished',
} as const;
export type EventType = (typeof EventType)[keyof typeof EventType];

/** A thought of the model. */
export interface ThoughtEvent {
  readonly type: 'thought';
  readonly content: string;
}
/** Text of an answer. */
export interface ContentEvent {
  readonly type: 'content';
  readonly content: string;
}
/** A call of a tool. */
export interface ToolCallEvent {
  readonly type: 'tool_call';
  readonly call: FunctionCall;
}
/** The response of a tool. */
export interface ToolResultEvent {
  readonly type: 'tool_result';
  readonly result: FunctionResponse;
}
/** Code that is run. */
export interface CallCodeEvent {
  readonly type: 'call_code';
  readonly code: ExecutableCode;
}
/** The output of code that was run. */
export interface CodeResultEvent {
  readonly type: 'code_result';
  readonly result: CodeExecutionResult;
}
/** An event with an error code. */
export interface ErrorEvent {
  readonly type: 'error';
  readonly error: Error;
}
/** Other work of an agent. `toStructuredEvents` never gives it, as in the ADK. */
export interface ActivityEvent {
  readonly type: 'activity';
  readonly kind: string;
  readonly detail: Record<string, unknown>;
}
/** Requests to a person to confirm calls, by the id of the call. */
export interface ToolConfirmationEvent {
  readonly type: 'tool_confirmation';
  readonly confirmations: Readonly<Record<string, unknown>>;
}
/** The end of the agent's answer. */
export interface FinishedEvent {
  readonly type: 'finished';
  readonly output?: unknown;
}
/** One part of an event's content or outcome. */
export type StructuredEvent =
  | ThoughtEvent
  | ContentEvent
  | ToolCallEvent
  | ToolResultEvent
  | CallCodeEvent
  | CodeResultEvent
  | ErrorEvent
  | ActivityEvent
  | ToolConfirmationEvent
  | FinishedEvent;

/**
 * Splits an event into its statements, in the order of its parts: thoughts, text, calls, results and code, then
 * requests for confirmation, and `finished` for a final response. An event with an error code gives only the error, and
 * a chunk (`partial: true`) only its thoughts, its text and its requests.
 *
 * @example
 * for (const part of toStructuredEvents(event)) if (part.type === EventType.CONTENT) process.stdout.write(part.content);
 */
export function toStructuredEvents(event: Event): StructuredEvent[] {
  if (!isRecord(event) || !isRecord(event.actions)) throw notAnEvent('toStructuredEvents', event);
  if (event.errorCode) return [{ type: EventType.ERROR, error: new Error(event.errorMessage || event.errorCode) }];
  const found: StructuredEvent[] = [];
  for (const { functionCall, functionResponse, executableCode, codeExecutionResult, text, thought } of event.content
    ?.parts ?? []) {
    // The event of the whole reply has the calls, results and code of its chunks again.
    if (event.partial === true && !text) continue;
    if (isFilled(functionCall)) found.push({ type: EventType.TOOL_CALL, call: functionCall });
    else if (isFilled(functionResponse)) found.push({ type: EventType.TOOL_RESULT, result: functionResponse });
    else if (isFilled(executableCode)) found.push({ type: EventType.CALL_CODE, code: executableCode });
    else if (isFilled(codeExecutionResult)) found.push({ type: EventType.CODE_RESULT, result: codeExecutionResult });
    else if (text) found.push({ type: thought ? EventType.THOUGHT : EventType.CONTENT, content: text });
  }
  const confirmations = event.actions.requestedToolConfirmations;
  if (isFilled(confirmations)) found.push({ type: EventType.TOOL_CONFIRMATION, confirmations });
  if (endsAnswer(event)) found.push({ type: EventType.FINISHED, output: undefined });
  return found;
}

/** Returns what `isFinalResponse` of the ADK does, which is true for an event without content too. */
function endsAnswer(event: Event): boolean {
  const { partial, content, actions, longRunningToolIds = [] } = event;
  if (actions.skipSummarization || longRunningToolIds.length > 0 || isFilled(actions.requestedAuthConfigs)) return true;
  const parts = content?.parts ?? [];
  if (partial || parts.at(-1)?.codeExecutionResult) return false;
  return parts.every(({ functionCall, functionResponse }) => !functionCall && !functionResponse);
}

function isFilled<T extends object>(value: T | undefined): value is T {
  return value !== undefined && Object.keys(value).length > 0;
}
