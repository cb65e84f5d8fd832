import { type Event, type FunctionCall, getFunctionCalls, getFunctionResponses, REQUEST_CONFIRMATION } from 'eventloom';

/** Returns the calls in a session that a person still has to confirm or reject. */
export function openQuestions(events: readonly Event[]): FunctionCall[] {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return events.flatMap(getFunctionCalls).filter(({ id, name }) => name === REQUEST_CONFIRMATION && !answered.has(id));
}
