/** Data of a session's last event that the next append needs. */
export interface WriterPosition {
  /** The sequence number of the last event; 0 before the first event. */
  readonly seq: number;
  /** The id of the last event; null before the first event. */
  readonly eventId: string | null;
  /** The latest timestamp of all events, in seconds; null before the first event. */
  readonly highTimestamp: number | null;
  /** The end of the compacted time range, in seconds; null without a compaction. */
  readonly compactedUntil: number | null;
}

/** The columns of a row with a position. Integers of SQL are returned as text. */
export interface PositionRow {
  readonly seq: unknown;
  readonly event_id: string | null;
  readonly high_timestamp: number | null;
  readonly compacted_until: number | null;
}

/** Maximum number of positions. The oldest ones, of leases that were never released, are removed. */
const MAX_LEASES = 10_000;

/**
 * Positions at which lease holders append next, by epoch. They stay valid because only the holder appends. An append with a known position
 * does not query it. It is refused if its number is taken, and if the event at the position is not, or no longer, in the session.
 */
export class WriterPositions {
  readonly #byEpoch = new Map<number, WriterPosition>();

  get(epoch: number): WriterPosition | undefined {
    return this.#byEpoch.get(epoch);
  }

  set(epoch: number, { seq, event_id, high_timestamp, compacted_until }: PositionRow): void {
    this.#byEpoch.set(epoch, {
      seq: Number(seq),
      eventId: event_id,
      highTimestamp: high_timestamp,
      compactedUntil: compacted_until,
    });
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
