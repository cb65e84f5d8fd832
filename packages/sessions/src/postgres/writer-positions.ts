/** The last event of a session, as far as the next append has to know it. */
export interface WriterPosition {
  /** 0 before the first event. */
  readonly seq: number;
  /** Null before the first event. */
  readonly highTimestamp: number | null;
  /** Null without a compaction. */
  readonly compactedUntil: number | null;
}

/** The columns of a row that says one; numbers of SQL's integers come as text. */
export interface PositionRow {
  readonly seq: unknown;
  readonly high_timestamp: number | null;
  readonly compacted_until: number | null;
}

/** Leases that nobody gives back are forgotten when there are more. */
const MAX_LEASES = 10_000;

/**
 * Positions of lease owners in their sessions, by epoch: nobody else appends meanwhile. An append that knows its
 * position needs no query for it, and a wrong position is already taken.
 */
export class WriterPositions {
  readonly #byEpoch = new Map<number, WriterPosition>();

  get(epoch: number): WriterPosition | undefined {
    return this.#byEpoch.get(epoch);
  }

  set(epoch: number, { seq, high_timestamp, compacted_until }: PositionRow): void {
    this.#byEpoch.set(epoch, { seq: Number(seq), highTimestamp: high_timestamp, compactedUntil: compacted_until });
    if (this.#byEpoch.size <= MAX_LEASES) return;
    for (const oldest of this.#byEpoch.keys()) {
      this.#byEpoch.delete(oldest);
      return;
    }
  }

  delete(epoch: number): void {
    this.#byEpoch.delete(epoch);
  }
}
