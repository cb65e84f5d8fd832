/** Dropped entries are cut off the list once there are this many of them. */
const COMPACT_AT = 1024;

/**
 * The events of one run as JSON text, numbered in the order they came: from 1, or for a run that goes on from a number of its own. The
 * oldest can be dropped; the others keep their numbers. An event is serialised once, by whoever appends it, for all who read it.
 */
export class RunBuffer {
  #texts: string[] = [];
  #dropped = 0;
  #beginSeq: number;
  #firstSeq: number;
  #chars = 0;
  #largestChars = 0;

  /** @param firstSeq the number of the first event that will be appended */
  constructor(firstSeq = 1) {
    this.#beginSeq = firstSeq;
    this.#firstSeq = firstSeq;
  }

  /** True when there never was an event. */
  get isEmpty(): boolean {
    return this.lastSeq < this.#beginSeq;
  }

  /** True when all events are kept that there ever were. */
  get isWhole(): boolean {
    return this.#firstSeq === this.#beginSeq;
  }

  /** The number of the oldest event that is kept; one past the last when none is. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  /** The number of the newest event; one less than the first number while there is none. */
  get lastSeq(): number {
    return this.#firstSeq + this.count - 1;
  }

  /** How many events are kept. */
  get count(): number {
    return this.#texts.length - this.#dropped;
  }

  /** Characters of the events that are kept. */
  get chars(): number {
    return this.#chars;
  }

  /** Characters of the largest event that there ever was. */
  get largestChars(): number {
    return this.#largestChars;
  }

  append(text: string): void {
    this.#texts.push(text);
    this.#chars += text.length;
    this.#largestChars = Math.max(this.#largestChars, text.length);
  }

  /** Drops the oldest event and returns how many characters that were. */
  dropOldest(): number {
    const text = this.#texts[this.#dropped] ?? '';
    this.#texts[this.#dropped++] = '';
    this.#firstSeq++;
    this.#chars -= text.length;
    if (this.#dropped >= COMPACT_AT) {
      this.#texts = this.#texts.slice(this.#dropped);
      this.#dropped = 0;
    }
    return text.length;
  }

  /** Drops everything, leaves out the numbers before this one, and returns how many characters were dropped. */
  restartAt(firstSeq: number): number {
    const chars = this.#chars;
    this.#texts = [];
    this.#dropped = 0;
    this.#beginSeq = firstSeq;
    this.#firstSeq = firstSeq;
    this.#chars = 0;
    this.#largestChars = 0;
    return chars;
  }

  /** True when every event after this number is kept. */
  hasAllAfter(seq: number): boolean {
    return seq >= this.#firstSeq - 1;
  }

  /** The event with this number. */
  at(seq: number): string | undefined {
    return seq < this.#firstSeq ? undefined : this.#texts[this.#dropped + seq - this.#firstSeq];
  }

  /** All that is kept, as a JSON list. */
  toJsonList(): string {
    return `[${this.#texts.slice(this.#dropped).join(',')}]`;
  }
}
