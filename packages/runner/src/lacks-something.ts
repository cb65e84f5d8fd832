import { type Event, getFunctionCalls, hasBeginOfRun } from '@eventloom/core';

/** True when a call that is answered, or the invocation that is to go on, was before these events. */
export function lacksSomething(
  events: readonly Event[],
  callIds: readonly string[],
  invocationId: string | undefined,
): boolean {
  if (invocationId !== undefined && !hasBeginOfRun(events, invocationId)) return true;
  if (callIds.length === 0) return false;
  const known = new Set(events.flatMap(getFunctionCalls).map(({ id }) => id));
  return callIds.some((id) => !known.has(id));
}
