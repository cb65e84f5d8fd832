import type { Event } from '@eventloom/core';
import type { EventWindow } from './session-driver.ts';

/** Number of events in a block, as the exponent of a power of two. */
const BLOCK_BITS = 9;
const BLOCK = 1 << BLOCK_BITS;

/** Consecutive events, with summaries so that a read need not examine each event. */
interface EventBlock {
  readonly events: Event[];
  /** The earliest timestamp of the events in the block, in seconds. */
  oldest: number;
  latest: number;
  /** The latest timestamp in this block and all blocks before it, in seconds. */
  latestSoFar: number;
  /** True if one of the events has a compaction. */
  hasCompaction: boolean;
}

/**
 * A session's events in memory, by reference: the event at index `n` has the sequence number `n + 1`. They are stored
 * in blocks, so that no list is copied when it grows and no read examines every event.
 */
export class StoredEvents {
  /** Number of events. Only this class sets it. */
  length = 0;
  /** End of the range that compactions cover, in seconds; -Infinity without one. Only this class sets it. */
  coveredUntil: number = -Infinity;
  #blocks: readonly EventBlock[] = [];
  readonly #ids = new IdIndex();

  /** Stores the event. If an event with its id is already stored, returns that event and stores nothing. */
  add(event: Event): Event | undefined {
    const found = this.#ids.claim(this, event.id, this.length);
    if (found < this.length) return this.#blocks[found >>> BLOCK_BITS]?.events[found & (BLOCK - 1)];
    const { timestamp } = event;
    const { compaction } = event.actions;
    let block = this.#blocks.at(-1);
    if (!block || block.events.length === BLOCK) block = this.#addBlock(block?.latestSoFar ?? -Infinity);
    if (timestamp < block.oldest) block.oldest = timestamp;
    if (timestamp > block.latest) block.latest = timestamp;
    if (timestamp > block.latestSoFar) block.latestSoFar = timestamp;
    if (compaction) {
      block.hasCompaction = true;
      this.coveredUntil = Math.max(this.coveredUntil, compaction.endTimestamp);
    }
    block.events.push(event);
    this.length++;
    return undefined;
  }

  /**
   * Returns the events of a window as a new list, at the cost of the returned events: the search goes backwards from
   * the newest event, skips blocks without a matching event, and ends when all earlier events are too old.
   */
  read(window: EventWindow): Event[] {
    const { afterSeq, beforeSeq = Infinity, afterTimestamp = -Infinity, limit = Infinity } = window;
    const covered = window.sinceCompaction ? this.coveredUntil : -Infinity;
    const end = Math.min(this.length, beforeSeq - 1);
    const parts: Event[][] = [];
    let missing = limit;
    for (let at = Math.ceil(end / BLOCK) - 1; at >= 0 && missing > 0; at--) {
      const block = this.#blocks[at];
      const start = at * BLOCK;
      if (!block || start + BLOCK <= afterSeq || block.latestSoFar < afterTimestamp) break;
      const part = readBlock(block, Math.max(0, afterSeq - start), end - start, afterTimestamp, covered, missing);
      if (part.length === 0) continue;
      parts.push(part);
      missing -= part.length;
    }
    return parts.length === 1 ? (parts[0] ?? []) : parts.reverse().flat();
  }

  /** Returns the id of the event at an index; undefined if there is none yet. */
  idAt(index: number): string | undefined {
    return this.#blocks[index >>> BLOCK_BITS]?.events[index & (BLOCK - 1)]?.id;
  }

  /** @param latestSoFar the latest timestamp of all blocks before */
  #addBlock(latestSoFar: number): EventBlock {
    const block = { events: [], oldest: Infinity, latest: -Infinity, latestSoFar, hasCompaction: false };
    this.#blocks = [...this.#blocks, block];
    return block;
  }
}

/** Returns the newest events of a block, from one index up to another, that are not too old and not covered. */
function readBlock(
  { events, oldest, latest, hasCompaction }: EventBlock,
  from: number,
  end: number,
  afterTimestamp: number,
  covered: number,
  limit: number,
): Event[] {
  const to = Math.min(end, events.length);
  if (oldest >= afterTimestamp && oldest > covered) return events.slice(Math.max(from, to - limit), to);
  if (latest < afterTimestamp) return [];
  if (latest <= covered && !hasCompaction) return [];
  const found: Event[] = [];
  for (let index = to - 1; index >= from && found.length < limit; index--) {
    const event = events[index];
    if (!event || event.timestamp < afterTimestamp) continue;
    if (event.timestamp > covered || event.actions.compaction) found.push(event);
  }
  return found.reverse();
}

/** Number of items from which a table finds an id faster than a comparison with each. */
const TABLE_FROM = 32;
const FIRST_SLOTS = 4 * TABLE_FROM;
/** A random seed, so that clients cannot choose ids that collide. */
const SEED = Math.floor(Math.random() * 2 ** 30);
const NO_SLOTS = new Int32Array(0);

/** The list whose ids are indexed. */
interface IdentifiedList {
  /** Returns the id of the item at an index; undefined if there is none yet. */
  idAt(index: number): string | undefined;
}

/**
 * The indexes of the items of a list by id. A new id is compared with a few others one by one, which costs less than its hash. From 32 ids
 * they are kept as a hash table of numbers that is at most half full. A Map would spread texts over the heap, and each look-up in a large
 * Map would wait for several of them.
 */
export class IdIndex {
  #hashes = NO_SLOTS;
  /** The table: index plus 1, or 0 in a free slot. */
  #places = NO_SLOTS;
  #size = 0;

  /**
   * Returns the index of the item with this id. A new id gets `index`, which must be the number of ids so far.
   * @param list the same list in each call
   */
  claim(list: IdentifiedList, id: string, index: number): number {
    if (index < TABLE_FROM) {
      // A tool call that ends is nearly always among the newest.
      for (let at = index - 1; at >= 0; at--) if (list.idAt(at) === id) return at;
      return index;
    }
    if (this.#size === 0) this.#tabulate(list);
    return this.#claimSlot(list, id, hashOf(id), index);
  }

  #claimSlot(list: IdentifiedList, id: string, hash: number, index: number): number {
    const mask = this.#places.length - 1;
    let slot = hash & mask;
    for (let place = this.#places[slot]; place; place = this.#places[slot]) {
      if (this.#hashes[slot] === hash && list.idAt(place - 1) === id) return place - 1;
      slot = (slot + 1) & mask;
    }
    this.#hashes[slot] = hash;
    this.#places[slot] = index + 1;
    if (++this.#size * 2 > this.#places.length) this.#grow();
    return index;
  }

  #tabulate(list: IdentifiedList): void {
    this.#hashes = new Int32Array(FIRST_SLOTS);
    this.#places = new Int32Array(FIRST_SLOTS);
    this.#size = TABLE_FROM;
    for (let index = 0; index < TABLE_FROM; index++) this.#put(hashOf(list.idAt(index) ?? ''), index + 1);
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
