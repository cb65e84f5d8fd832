import type { Event } from './event.ts';

/** Yields the events from newest to oldest, without rewound events and rewinds. */
export function* newestFirst(events: readonly Event[]): Generator<Event, void, void> {
  for (const [, event] of newestEntries(events)) yield event;
}

/** Yields the same events as `newestFirst`, each with its position. */
export function* newestEntries(events: readonly Event[]): Generator<readonly [number, Event], void, void> {
  let begun: ReadonlyMap<string, number> | undefined;
  for (let position = events.length - 1; position >= 0; position--) {
    const event = events[position] as Event;
    const target = event.actions.rewindBeforeInvocationId;
    if (target === undefined) {
      yield [position, event];
      continue;
    }
    position = Math.min(position, (begun ??= firstPositions(events)).get(target) ?? position);
  }
}

/** Returns the position of the first event of each invocation. */
export function firstPositions(events: readonly Event[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const [position, { invocationId }] of events.entries())
    if (!first.has(invocationId)) first.set(invocationId, position);
  return first;
}
