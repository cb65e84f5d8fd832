/** Where a run of events that follow each other begins: its index in a list, and the sequence number there. */
export interface EventPlace {
  readonly index: number;
  readonly seq: number;
  /** True when the run may have gaps: its events are there or later. */
  readonly isBound?: true;
}

/** The sequence numbers of a list of events that has gaps. What is appended to the list follows its last event. */
export class EventPlaces {
  readonly #places: readonly EventPlace[];

  /** @param places in ascending order, the first of index 0 */
  constructor(places: readonly EventPlace[]) {
    this.#places = places;
  }

  /** The sequence number of an event; where it is not known (see `isExact`), one that the event is not before. */
  seqOf(index: number): number {
    const place = this.#placeOf(index);
    return place ? place.seq + index - place.index : index + 1;
  }

  isExact(index: number): boolean {
    return !this.#placeOf(index)?.isBound;
  }

  #placeOf(index: number): EventPlace | undefined {
    return this.#places.findLast((begin) => begin.index <= index);
  }
}

/** Of a list that has all events from the session's first one on. */
export const FROM_THE_BEGIN = new EventPlaces([]);
