import { type MaybePromise, type SessionLease, SizeLimitError, type ToolLedgerEntry } from '@eventloom/core';

/** Tool calls to be recorded together. Entries of one call are merged as if they were recorded one after the other. */
interface ToolCallBatch {
  readonly entries: Map<string, ToolLedgerEntry>;
  /** Resolves to false if the lease is not live. */
  readonly recorded: Promise<boolean>;
  /** Records the entries now. */
  readonly write: () => void;
}

/**
 * Records the tool calls that are added at the same moment in one write. The calls of a reply start together and often end together, and a
 * transaction costs a database far more than one more row.
 */
export class ToolCallBatches {
  readonly #record: (lease: SessionLease, entries: readonly ToolLedgerEntry[]) => MaybePromise<boolean>;
  readonly #waiting = new Map<SessionLease, ToolCallBatch>();

  /** @param record stores different tool calls under a live lease, all or none. Returns false if the lease is not live */
  constructor(record: (lease: SessionLease, entries: readonly ToolLedgerEntry[]) => MaybePromise<boolean>) {
    this.#record = record;
  }

  /** Implements `SessionDriver.recordToolCall`. */
  add(lease: SessionLease, entry: ToolLedgerEntry): Promise<boolean> {
    const { entries, recorded } = this.#batchOf(lease);
    const id = `${entry.invocationId}/${entry.entryId}`;
    if (entries.get(id)?.status !== 'finished') entries.set(id, entry);
    return recorded.catch((error: unknown) => {
      // Another call of the batch may be the one that is too large.
      if (entries.size === 1 || !SizeLimitError.isInstance(error)) throw error;
      return this.#record(lease, [entry]);
    });
  }

  /** Begins to record the calls that were added before, so that a later write does not overtake them. */
  write(): void {
    for (const batch of this.#waiting.values()) batch.write();
  }

  #batchOf(lease: SessionLease): ToolCallBatch {
    const waiting = this.#waiting.get(lease);
    if (waiting) return waiting;
    const entries = new Map<string, ToolLedgerEntry>();
    const { promise: recorded, resolve, reject } = Promise.withResolvers<boolean>();
    const batch = {
      entries,
      recorded,
      write: () => {
        if (!this.#waiting.delete(lease)) return;
        try {
          resolve(this.#record(lease, [...entries.values()]));
        } catch (error) {
          reject(error);
        }
      },
    };
    this.#waiting.set(lease, batch);
    queueMicrotask(batch.write);
    return batch;
  }
}
