import { type FunctionCall, type FunctionResponse, hasResponses } from '../content/content.ts';
import { type Event, notAnEvent, ObjectType } from './event.ts';

/**
 * Returns the function calls of an event, in order; empty if it has none, and for a chunk: the whole reply has its
 * calls again, so that a reader of the stream gets each call once.
 */
export function getFunctionCalls(event: Event): FunctionCall[] {
  if (!event) throw notAnEvent('getFunctionCalls', event);
  const calls: FunctionCall[] = [];
  if (event.partial === true) return calls;
  for (const part of event.content?.parts ?? []) if (part.functionCall) calls.push(part.functionCall);
  return calls;
}

/** Returns the function responses of an event, in order; empty if it has none. */
export function getFunctionResponses(event: Event): FunctionResponse[] {
  if (!event) throw notAnEvent('getFunctionResponses', event);
  const responses: FunctionResponse[] = [];
  for (const part of event.content?.parts ?? []) if (part.functionResponse) responses.push(part.functionResponse);
  return responses;
}

/** True for an event that an agent answers: a message of the user, or the request of an agent that called it as a tool or a node. */
export function isInput({ author, object }: Event): boolean {
  return author === 'user' || object === ObjectType.agentInput;
}

/** True for the whole reply of a model in a text run, a truncated one too: its usage has the timing. */
export function isWholeReply({ usageMetadata, partial }: Event): boolean {
  return usageMetadata?.timingInfo !== undefined && partial !== true;
}

/**
 * True for the error event of an agent or a run that failed. False for a reply that the model truncated, which is an error event as well.
 */
export function isFailure(event: Event): boolean {
  return event.object === ObjectType.error && !isWholeReply(event);
}

/** True if the last part is the result of executed code, which the model has not answered yet. */
export function hasTrailingCodeExecutionResult(event: Event): boolean {
  return event.content?.parts?.at(-1)?.codeExecutionResult !== undefined;
}

/**
 * True if the event is an answer to show to the user: a whole text or an error of an agent. A run may have several, one of each agent that
 * answers.
 *
 * False for a chunk, for a function call and its response, and for an event that only changes state. Two exceptions end an agent's turn and
 * are true: a function response with `actions.skipSummarization`, and a call whose response comes later (`longRunningToolIds`).
 *
 * @example
 * for await (const event of runner.runAsync({ userId, sessionId, newMessage })) {
 *   if (isFinalResponse(event)) show(event);
 * }
 */
export function isFinalResponse(event: Event): boolean {
  if (!event) throw notAnEvent('isFinalResponse', event);
  if (event.longRunningToolIds?.length) return true;
  const parts = event.content?.parts;
  if (hasResponses(event.content)) return event.actions.skipSummarization === true;
  if (event.partial === true || event.object === ObjectType.agentTransfer) return false;
  if (!parts?.length && !(event.errorCode ?? event.errorMessage ?? event.error)) return false;
  return !parts?.some((part) => part.functionCall) && !hasTrailingCodeExecutionResult(event);
}

/**
 * True for the end of a model's reply: an event with content or an error that is not a chunk and has no function call. Unlike
 * `isFinalResponse`, it is also true for a function response. Named after `Done` of trpc-agent-go; to find the answer for the user call
 * `isFinalResponse`.
 */
export function isDoneResponse(event: Event): boolean {
  if (event.partial === true) return false;
  if (event.content?.parts?.some((part) => part.functionCall)) return false;
  return Boolean(event.content?.parts?.length) || event.errorCode !== undefined || event.error !== undefined;
}

/** True for an event that only records where a resumable agent is: it is stored, and no reader of a run gets it. */
export function isBookkeeping({ content, errorCode, actions }: Event): boolean {
  if (content !== undefined || errorCode !== undefined) return false;
  const { endOfAgent, agentState, stateDelta, artifactDelta, ...others } = actions;
  if (endOfAgent === undefined && agentState === undefined) return false;
  return Object.keys(stateDelta).length + Object.keys(artifactDelta).length + Object.keys(others).length === 0;
}
