/** Number of events from which a table finds an id faster than a search in the list of hashes. */
const TABLE_FROM = 128;
const FIRST_SLOTS = 4 * TABLE_FROM;
/** A random seed, so that clients cannot choose ids that collide. */
const SEED = Math.floor(Math.random() * 2 ** 30);
const NO_SLOTS = new Int32Array(0);

/** The events whose ids are indexed. */
export interface IdentifiedEvents {
  /** Returns the id of the event at an index; undefined if there is none yet. */
  idAt(index: number): string | undefined;
}

/**
 * The indexes of events by id. A few ids are kept as a list of hashes in the order of the events, which an engine searches faster than it
 * builds a table. From 128 ids they are kept as a hash table of numbers that is at most half full. A Map would spread texts over the heap,
 * and each look-up in a large Map would wait for several of them.
 */
export class EventIds {
  readonly #events: IdentifiedEvents;
  /** The hashes of the first ids; empty once there is a table. */
  #few: number[] = [];
  #hashes = NO_SLOTS;
  /** The table: index plus 1, or 0 in a free slot. */
  #places = NO_SLOTS;
  #size = 0;

  constructor(events: IdentifiedEvents) {
    this.#events = events;
  }

  /** Returns the index of the event with this id. A new id gets `index`, which must be the number of ids so far. */
  claim(id: string, index: number): number {
    const hash = hashOf(id);
    if (this.#places.length > 0) return this.#claimSlot(id, hash, index);
    const few = this.#few;
    for (let at = few.indexOf(hash); at >= 0; at = few.indexOf(hash, at + 1))
      if (this.#events.idAt(at) === id) return at;
    if (few.push(hash) === TABLE_FROM) this.#tabulate();
    return index;
  }

  #claimSlot(id: string, hash: number, index: number): number {
    const mask = this.#places.length - 1;
    let slot = hash & mask;
    for (let place = this.#places[slot]; place; place = this.#places[slot]) {
      if (this.#hashes[slot] === hash && this.#events.idAt(place - 1) === id) return place - 1;
      slot = (slot + 1) & mask;
    }
    this.#hashes[slot] = hash;
    this.#places[slot] = index + 1;
    if (++this.#size * 2 > this.#places.length) this.#grow();
    return index;
  }

  #tabulate(): void {
    const few = this.#few;
    this.#few = [];
    this.#hashes = new Int32Array(FIRST_SLOTS);
    this.#places = new Int32Array(FIRST_SLOTS);
    this.#size = few.length;
    for (let index = 0; index < few.length; index++) this.#put(few[index] ?? 0, index + 1);
  }

  #grow(): void {
    const hashes = this.#hashes;
    const places = this.#places;
    this.#hashes = new Int32Array(places.length * 2);
    this.#places = new Int32Array(places.length * 2);
    for (let from = 0; from < places.length; from++) {
      const place = places[from] ?? 0;
      if (place > 0) this.#put(hashes[from] ?? 0, place);
    }
  }

  /** Fills a free slot of a table that lacks this id. */
  #put(hash: number, place: number): void {
    const mask = this.#places.length - 1;
    let slot = hash & mask;
    while (this.#places[slot]) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#places[slot] = place;
  }
}

/**
 * Returns the FNV-1a hash of UTF-16 units, with its upper bits mixed into the lower ones, in 30 bits, which are a small integer in every
 * engine.
 */
function hashOf(text: string): number {
  let hash = SEED;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}
