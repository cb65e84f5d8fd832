import type { Event } from './event.ts';

/** The events from the newest back, without what was rewound and the rewinds themselves. */
export function* newestFirst(events: readonly Event[]): Generator<Event, void, void> {
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index] as Event;
    const target = event.actions.rewindBeforeInvocationId;
    if (target === undefined) {
      yield event;
      continue;
    }
    const first = events.findIndex(({ invocationId }) => invocationId === target);
    if (first >= 0 && first < index) index = first;
  }
}
