import type { Platform } from '@eventloom/core';
import type { DurableObjectSessionService } from '@eventloom/sessions/durable-object';

/** Delay before unreferenced large values are deleted; it doubles up to the maximum while deleting fails. */
const SWEEP_MS = 5000;
const MAX_SWEEP_MS = 300_000;

/** Schedules and performs the deletion of large values that no row of an object's sessions refers to. */
export class LargeValueSweep {
  readonly #sessions: DurableObjectSessionService;
  readonly #platform: Platform;
  readonly #report: (error: unknown) => void;
  #dueMs = Infinity;
  #waitMs = SWEEP_MS;

  /** @param report called with the first of consecutive failures */
  constructor(sessions: DurableObjectSessionService, platform: Platform, report: (error: unknown) => void) {
    this.#sessions = sessions;
    this.#platform = platform;
    this.#report = report;
  }

  /** Time of the next sweep in milliseconds since the epoch; `Infinity` if there is nothing to delete. */
  get dueMs(): number {
    this.#dueMs = this.#sessions.hasLoose ? Math.min(this.#dueMs, this.#platform.now() + this.#waitMs) : Infinity;
    return this.#dueMs;
  }

  /** Deletes unreferenced values, unless a retry is not due yet. Never rejects. */
  async sweep(): Promise<void> {
    if (this.#platform.now() < this.#dueMs && this.#waitMs > SWEEP_MS) return;
    this.#dueMs = Infinity;
    try {
      await this.#sessions.sweep();
      this.#waitMs = SWEEP_MS;
    } catch (error) {
      if (this.#waitMs === SWEEP_MS) this.#report(error);
      this.#waitMs = Math.min(this.#waitMs * 2, MAX_SWEEP_MS);
    }
  }
}
