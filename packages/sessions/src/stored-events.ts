import type { Event } from '@eventloom/core';
import { EventIds } from './event-ids.ts';
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
  readonly #ids: EventIds = new EventIds(this);

  /** Stores the event. If an event with its id is already stored, returns that event and stores nothing. */
  add(event: Event): Event | undefined {
    const found = this.#ids.claim(event.id, this.length);
    if (found < this.length) return this.#at(found);
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
    return this.#at(index)?.id;
  }

  #at(index: number): Event | undefined {
    return this.#blocks[index >>> BLOCK_BITS]?.events[index & (BLOCK - 1)];
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
