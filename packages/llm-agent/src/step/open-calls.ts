import { type Event, type FunctionCall, getFunctionCalls, getFunctionResponses, type Part } from '@eventloom/core';

/**
 * True when the newest event is a person's answer to one of several long-running calls of a reply and others of them are still
 * open: the model is asked when it can be told all of them. Any other call without an answer was cut off and will never have one.
 */
export function awaitsOtherResponses(events: readonly Event[]): boolean {
  const newest = events.at(-1);
  if (newest?.author !== 'user') return false;
  const ids = new Set(getFunctionResponses(newest).map((response) => response.id));
  if (ids.size === 0) return false;
  const answered = new Set<string | undefined>();
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index] as Event;
    for (const response of getFunctionResponses(event)) answered.add(response.id);
    if (getFunctionCalls(event).some((call) => ids.has(call.id)))
      return event.longRunningToolIds?.some((id) => !answered.has(id)) ?? false;
  }
  return false;
}

/**
 * The calls of a reply that are for the agent to run. A model whose service runs tools itself (remote MCP servers) tells of a call
 * and of its response in one reply: such a call is over.
 */
export function callsToRun(parts: readonly Part[] = []): FunctionCall[] {
  const open: FunctionCall[] = [];
  for (const { functionCall, functionResponse } of parts) {
    if (functionCall) open.push(functionCall);
    if (!functionResponse) continue;
    const { id, name } = functionResponse;
    const at = open.findIndex((call) => (id ? call.id === id : call.name === name));
    if (at >= 0) open.splice(at, 1);
  }
  return open;
}
