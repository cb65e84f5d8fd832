import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';

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
