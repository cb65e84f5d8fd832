import type { Platform } from '@eventloom/core';
import type { DurableObjectSessionService } from '@eventloom/sessions/durable-object';

/** When large values are swept that nothing refers to any more. What could not be is tried again later and later. */
const SWEEP_MS = 5000;
const MAX_SWEEP_MS = 300_000;

/** Says when the large values of an object's sessions are to be swept, and sweeps them. */
export class LargeValueSweep {
  readonly #sessions: DurableObjectSessionService;
  readonly #platform: Platform;
  readonly #report: (error: unknown) => void;
  #dueMs = Infinity;
  #waitMs = SWEEP_MS;

  /** @param report told of what failed, once until it works again */
  constructor(sessions: DurableObjectSessionService, platform: Platform, report: (error: unknown) => void) {
    this.#sessions = sessions;
    this.#platform = platform;
    this.#report = report;
  }

  /** When there is something to sweep; infinite while there is not. */
  get dueMs(): number {
    this.#dueMs = this.#sessions.hasLoose ? Math.min(this.#dueMs, this.#platform.now() + this.#waitMs) : Infinity;
    return this.#dueMs;
  }

  /** Sweeps what is due. Never rejects. */
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
