import { type BaseSessionService, type Platform, type SessionLease, StaleWriterError } from '@eventloom/core';

/** A lease that a run holds. */
export interface HeldLease {
  readonly lease: SessionLease;
  /** When it was last renewed, by the keeper or by an append (then the event's time); milliseconds since the epoch. */
  renewedMs: number;
  /** Told when the lease is lost. */
  readonly onLost: (error: StaleWriterError) => void;
}

/**
 * Renews the leases of runs that have appended nothing for a while. One timer serves all runs, and it only runs while there are
 * any: a turn that ends quickly sets none of its own.
 */
export class LeaseKeeper {
  readonly #service: BaseSessionService;
  readonly #platform: Platform;
  readonly #held = new Set<HeldLease>();
  #callOff: (() => void) | undefined;
  /** When the timer is due; 0 without one. */
  #dueMs = 0;

  constructor(service: BaseSessionService, platform: Platform) {
    this.#service = service;
    this.#platform = platform;
  }

  /** Keeps a lease that was just taken. */
  hold(held: HeldLease): void {
    this.#held.add(held);
    // Workers drop a timer with the request that set it: one that is overdue will not come.
    if (held.renewedMs >= this.#dueMs) this.#tick(held.lease.ttlMs, held.renewedMs);
  }

  letGo(held: HeldLease): void {
    this.#held.delete(held);
  }

  #tick(ttlMs: number, nowMs: number): void {
    const periodMs = ttlMs / 3;
    this.#callOff?.();
    this.#callOff = undefined;
    this.#dueMs = 0;
    if (this.#held.size === 0) return;
    this.#dueMs = nowMs + periodMs;
    this.#callOff = this.#platform.schedule(periodMs, () => this.#tick(ttlMs, this.#platform.now()), { idle: true });
    for (const held of this.#held) {
      const idleMs = nowMs - held.renewedMs;
      // Below zero is the time of an event that an agent dated itself.
      if (idleMs >= periodMs / 2 || idleMs < 0) this.#platform.background(this.#renew(held, nowMs));
    }
  }

  /** A failure that says nothing of the lease is the platform's to report: the next tick tries again, and appends are checked. */
  async #renew(held: HeldLease, nowMs: number): Promise<void> {
    try {
      await this.#service.renewLease(held.lease);
      held.renewedMs = nowMs;
    } catch (error) {
      if (!StaleWriterError.isInstance(error)) throw error;
      if (this.#held.has(held)) held.onLost(error);
    }
  }
}
