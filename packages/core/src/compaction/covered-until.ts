import type { Event } from '../event/event.ts';

/** What was found in the first events of a session, `count` of them. */
interface Found {
  readonly count: number;
  readonly endTimestamp: number;
}

/** The key of `Invocation.derived`. */
const COVERED_UNTIL = Symbol('covered until');

/**
 * The time up to which compactions cover the session, in seconds; -Infinity without one. Looks at the events that came since it was
 * last asked for these events.
 * @param derived is kept as long as the events are
 */
export function coveredUntil(events: readonly Event[], derived: Map<unknown, unknown>): number {
  // The key is this file's own.
  const found = derived.get(COVERED_UNTIL) as Found | undefined;
  let endTimestamp = found?.endTimestamp ?? -Infinity;
  for (let index = found?.count ?? 0; index < events.length; index++) {
    const end = events[index]?.actions.compaction?.endTimestamp;
    if (end !== undefined && end > endTimestamp) endTimestamp = end;
  }
  derived.set(COVERED_UNTIL, { count: events.length, endTimestamp } satisfies Found);
  return endTimestamp;
}

/** A time for an event that comes after a compaction: one at or before its end would be taken for covered. */
export function afterCovered(timestamp: number, endTimestamp: number): number {
  return timestamp > endTimestamp ? timestamp : endTimestamp + 0.001;
}
