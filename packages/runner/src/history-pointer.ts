import { effectiveHistory, type Event, type HistoryPointer } from '@eventloom/core';
import { type EventPlace, EventPlaces } from './event-places.ts';

/**
 * What a compaction says of where to read on, once it is appended to these events. Undefined where that is not known exactly: every
 * later read would be longer than it has to be.
 * @param events all that count @param places theirs
 */
export function pointBehindCompaction(
  events: readonly Event[],
  compaction: Event,
  places: EventPlaces,
  seq: number,
): HistoryPointer | undefined {
  const { uncovered, summaries } = effectiveHistory([...events, compaction]);
  const [first] = uncovered;
  if (first !== undefined && !places.isExact(first)) return undefined;
  const keptFrom = first === undefined ? seq : places.seqOf(first);
  const earlier = summaries.map(({ position }) => position).filter((position) => position < events.length);
  const apart = earlier.filter((position) => places.seqOf(position) < keptFrom);
  if (apart.length === 0) return { seq, keptFrom };
  return {
    seq,
    keptFrom,
    summaries: apart.map((position) => events[position]?.id ?? ''),
    summariesFrom: Math.min(...apart.map((position) => places.seqOf(position))),
  };
}

/** The events that count, and where they are: what summaries stand for and what was rewound is left out. */
export function eventsThatCount(
  events: readonly Event[],
  places: EventPlaces,
): { readonly events: Event[]; readonly places: EventPlaces } {
  const { uncovered, summaries } = effectiveHistory(events);
  const positions = [...uncovered, ...summaries.map(({ position }) => position)].sort((one, other) => one - other);
  const counting: EventPlace[] = positions.map((position, index) => ({
    index,
    seq: places.seqOf(position),
    ...(!places.isExact(position) && { isBound: true }),
  }));
  return { events: positions.map((position) => events[position] as Event), places: new EventPlaces(counting) };
}

/** What an event that stands at this place says of where to read on; undefined when it says nothing that can be. */
export function pointerAt(seq: number, { actions }: Event): HistoryPointer | undefined {
  const pointer = actions.history;
  if (pointer?.seq !== seq) return undefined;
  const { rewoundFrom = 1, keptFrom = 1, summariesFrom = 1 } = pointer;
  const isBefore = [rewoundFrom, keptFrom, summariesFrom].every((at) => Number.isInteger(at) && at >= 1 && at <= seq);
  return isBefore ? pointer : undefined;
}
