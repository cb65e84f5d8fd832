import { type Content, type Event } from '@eventloom/core';

/** True when an event changes what earlier ones mean, so that they have to be read again. */
export function rewritesHistory(event: Event): boolean {
  return event.actions.rewindBeforeInvocationId !== undefined || event.actions.compaction !== undefined;
}

/** A summary in place of the events it covers. */
export interface Summary {
  readonly summary: Content;
}

/** The events that count, in order: without what was rewound, and with summaries in place of what was compacted. */
export function effectiveEvents(events: readonly Event[]): (Event | Summary)[] {
  return applyCompactions(applyRewinds(events));
}

/** Drops, for every rewind that counts itself, everything from its invocation's first event up to the rewind. */
function applyRewinds(events: readonly Event[]): Event[] {
  const kept: Event[] = [];
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index] as Event;
    const target = event.actions.rewindBeforeInvocationId;
    if (target === undefined) {
      kept.push(event);
      continue;
    }
    const first = events.findIndex((earlier) => earlier.invocationId === target);
    if (first >= 0 && first < index) index = first;
  }
  return kept.reverse();
}

/** Each covered run of events becomes the summary that covers it; a summary inside a later, wider one goes with it. */
function applyCompactions(events: readonly Event[]): (Event | Summary)[] {
  const ranges = events.flatMap((event, position) => {
    const { compaction } = event.actions;
    return compaction ? [{ ...compaction, position }] : [];
  });
  if (ranges.length === 0) return [...events];
  const widest = ranges.filter(
    (range) =>
      !ranges.some(
        (other) =>
          other.position > range.position &&
          other.startTimestamp <= range.startTimestamp &&
          other.endTimestamp >= range.endTimestamp,
      ),
  );
  const told = new Set<(typeof widest)[number]>();
  const kept: (Event | Summary)[] = [];
  const tell = (range: (typeof widest)[number]): void => {
    if (told.has(range)) return;
    told.add(range);
    kept.push({ summary: { role: 'model', ...range.compactedContent } });
  };
  for (const [position, event] of events.entries()) {
    const covering = widest.find(
      (range) =>
        position < range.position && event.timestamp >= range.startTimestamp && event.timestamp <= range.endTimestamp,
    );
    if (covering) {
      tell(covering);
      continue;
    }
    // What a summary covers may not have been read: it then stands before what came after.
    for (const range of widest) {
      if (range.position === position || (range.position > position && event.timestamp > range.endTimestamp))
        tell(range);
    }
    if (!event.actions.compaction) kept.push(event);
  }
  return kept;
}
