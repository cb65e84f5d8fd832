import { type BaseSessionService, type Platform, type SessionLease } from '@eventloom/core';

/** A lease that a run holds. */
export interface HeldLease {
  readonly lease: SessionLease;
  /** When it was last renewed, by an append or by the keeper; milliseconds since the epoch. */
  renewedMs: number;
  /** Told when the lease is lost. */
  readonly onLost: (error: unknown) => void;
}

/**
 * Renews the leases of runs that have appended nothing for a while. One timer serves all runs, and it only runs while there are
 * any: a turn that ends quickly sets none of its own.
 */
export class LeaseKeeper {
  readonly #service: BaseSessionService;
  readonly #platform: Platform;
  readonly #held = new Set<HeldLease>();
  #isArmed = false;

  constructor(service: BaseSessionService, platform: Platform) {
    this.#service = service;
    this.#platform = platform;
  }

  hold(held: HeldLease): void {
    this.#held.add(held);
    if (!this.#isArmed) this.#arm(held.lease.ttlMs);
  }

  letGo(held: HeldLease): void {
    this.#held.delete(held);
  }

  #arm(ttlMs: number): void {
    this.#isArmed = true;
    this.#platform.schedule(ttlMs / 3, () => {
      this.#isArmed = false;
      if (this.#held.size > 0) this.#arm(ttlMs);
      this.#platform.background(this.#renewIdle(ttlMs / 3));
    });
  }

  async #renewIdle(idleMs: number): Promise<void> {
    const now = this.#platform.now();
    const idle = [...this.#held].filter((held) => now - held.renewedMs >= idleMs / 2);
    await Promise.all(
      idle.map(async (held) => {
        try {
          await this.#service.renewLease(held.lease);
          held.renewedMs = now;
        } catch (error) {
          if (this.#held.has(held)) held.onLost(error);
        }
      }),
    );
  }
}
