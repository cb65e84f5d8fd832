import type { Event } from '@eventloom/core';

/** The result for the first `count` events of a session. */
interface Found {
  readonly count: number;
  readonly endTimestamp: number;
}

/** The key of `Invocation.derived`. */
const COVERED_UNTIL = Symbol('covered until');

/**
 * Returns the time up to which compactions cover the session, in seconds; -Infinity without one. Reads only the events that were
 * appended since the last call.
 * @param derived is kept together with the events
 */
export function coveredUntil(events: readonly Event[], derived: Map<unknown, unknown>): number {
  // Only this file uses the key.
  const found = derived.get(COVERED_UNTIL) as Found | undefined;
  let endTimestamp = found?.endTimestamp ?? -Infinity;
  for (let index = found?.count ?? 0; index < events.length; index++) {
    const end = events[index]?.actions.compaction?.endTimestamp;
    if (end !== undefined && end > endTimestamp) endTimestamp = end;
  }
  derived.set(COVERED_UNTIL, { count: events.length, endTimestamp } satisfies Found);
  return endTimestamp;
}
