import { type Event, type FunctionCall, getFunctionCalls, getFunctionResponses, REQUEST_CONFIRMATION } from 'eventloom';

/** The calls in a session that a person has yet to confirm or to reject. */
export function openQuestions(events: readonly Event[]): FunctionCall[] {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return events.flatMap(getFunctionCalls).filter(({ id, name }) => name === REQUEST_CONFIRMATION && !answered.has(id));
}
