import type { Event } from './event.ts';

/** The events from the newest back, without what was rewound and the rewinds themselves. */
export function* newestFirst(events: readonly Event[]): Generator<Event, void, void> {
  for (const [, event] of newestEntries(events)) yield event;
}

/** As `newestFirst`, each event with its position. */
export function* newestEntries(events: readonly Event[]): Generator<readonly [number, Event], void, void> {
  for (let position = events.length - 1; position >= 0; position--) {
    const event = events[position] as Event;
    const target = event.actions.rewindBeforeInvocationId;
    if (target === undefined) {
      yield [position, event];
      continue;
    }
    const first = events.findIndex(({ invocationId }) => invocationId === target);
    if (first >= 0 && first < position) position = first;
  }
}
