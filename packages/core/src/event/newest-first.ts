import type { Event } from './event.ts';

/** Yields the events from newest to oldest, without rewound events and rewinds. */
export function* newestFirst(events: readonly Event[]): Generator<Event, void, void> {
  for (const [, event] of newestEntries(events)) yield event;
}

/** Yields the same events as `newestFirst`, each with its index. */
export function* newestEntries(events: readonly Event[]): Generator<readonly [number, Event], void, void> {
  let begun: ReadonlyMap<string, number> | undefined;
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index] as Event;
    const target = event.actions.rewindBeforeInvocationId;
    if (target === undefined) {
      yield [index, event];
      continue;
    }
    index = Math.min(index, (begun ??= firstIndexes(events)).get(target) ?? index);
  }
}

/** Returns the index of the first event of each invocation. */
export function firstIndexes(events: readonly Event[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const [index, { invocationId }] of events.entries())
    if (!first.has(invocationId)) first.set(invocationId, index);
  return first;
}
