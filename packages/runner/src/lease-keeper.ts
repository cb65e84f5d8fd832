import {
  type BaseSessionService,
  type EventloomError,
  type MaybePromise,
  type Platform,
  type SessionLease,
  StaleWriterError,
  StorageError,
  toError,
} from '@eventloom/core';
import { repeatWhileUnavailable } from '@eventloom/core/internal';

/** A lease that is renewed while it is held. */
export interface HeldLease {
  readonly lease: SessionLease;
  /** Time of the last renewal, by the keeper or by an append (the event's time), in milliseconds since the epoch. */
  renewedMs: number;
  /** Time at which the lease expires. */
  readonly endMs: number;
  /** Index of the lease in the keeper's list; -1 while it is not kept. Only the keeper sets it. */
  index: number;
  /** Called when the lease is lost: another writer has the session, or the storage could not be used until the lease expired. */
  lose(error: EventloomError): void;
}

/** Creates the error for a lease that was not renewed, with its session and its run. */
function notRenewed({ userId, sessionId, invocationId }: SessionLease, cause: unknown): StorageError {
  const session = `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)}`;
  const run = invocationId === undefined ? '' : ` for the run ${invocationId}`;
  return new StorageError(
    `the lease of ${session}${run} was not renewed, and another process may take the session: ${toError(cause).message}`,
    { cause },
  );
}

/**
 * Renews the leases of runs that have appended nothing for a while. One timer serves all runs, and exists only while
 * there are runs: a short turn sets no timer of its own.
 */
export class LeaseKeeper {
  readonly #service: BaseSessionService;
  readonly #platform: Platform;
  /** A list and not a set, because a set that becomes empty after each run allocates a new table for the next one. */
  readonly #held: HeldLease[] = [];
  /** Leases that are being renewed. */
  readonly #renewing = new Set<HeldLease>();
  /** Called with the failures of renewals. While there are none, the platform gets them. */
  readonly listeners = new Set<(error: StorageError) => void>();
  /** True after a failure was reported, until a lease is renewed. */
  #isFailureReported = false;
  #callOff: (() => void) | undefined;
  /** Time at which the timer is due; 0 without one. */
  #dueMs = 0;

  constructor(service: BaseSessionService, platform: Platform) {
    this.#service = service;
    this.#platform = platform;
  }

  /** Keeps a lease that was just taken. */
  hold(held: HeldLease): void {
    held.index = this.#held.push(held) - 1;
    // Workers drop a timer together with the request that set it, so an overdue timer will not fire.
    if (held.renewedMs >= this.#dueMs) this.#tick(held.lease.ttlMs, held.renewedMs);
  }

  release(held: HeldLease): void {
    if (held.index < 0) return;
    const last = this.#held.pop();
    if (last && last !== held) {
      this.#held[held.index] = last;
      last.index = held.index;
    }
    held.index = -1;
  }

  #tick(ttlMs: number, nowMs: number): void {
    const periodMs = ttlMs / 3;
    this.#callOff?.();
    this.#callOff = undefined;
    this.#dueMs = 0;
    if (this.#held.length === 0) {
      this.#isFailureReported = false;
      return;
    }
    this.#dueMs = nowMs + periodMs;
    this.#callOff = this.#platform.schedule(periodMs, () => this.#tick(ttlMs, this.#platform.now()), { idle: true });
    for (const held of this.#held) {
      const idleMs = nowMs - held.renewedMs;
      // A negative value means that an agent set the timestamp of its event in the future.
      if (idleMs >= periodMs / 2 || idleMs < 0) this.#platform.background(this.#renew(held, nowMs));
    }
  }

  /**
   * Renews one lease. A failure other than the loss of the lease is reported, once for all leases until one is renewed: the
   * next tick tries again, and appends check the lease. A run that writes nothing therefore survives a storage outage
   * longer than its lease, unless another writer takes the session.
   */
  async #renew(held: HeldLease, nowMs: number): Promise<void> {
    if (this.#renewing.has(held)) return;
    this.#renewing.add(held);
    const renew = (): MaybePromise<void> => (held.index >= 0 ? this.#service.renewLease(held.lease) : undefined);
    try {
      try {
        await renew();
        held.renewedMs = nowMs;
      } catch (error) {
        await repeatWhileUnavailable(renew, error, this.#platform, held.endMs);
        held.renewedMs = this.#platform.now();
      }
      if (held.index >= 0) this.#isFailureReported = false;
    } catch (error) {
      // The lease was released in the meantime.
      if (held.index < 0) return;
      if (StaleWriterError.isInstance(error)) return held.lose(error);
      if (this.#isFailureReported) return;
      this.#isFailureReported = true;
      const failure = notRenewed(held.lease, error);
      if (this.listeners.size === 0) throw failure;
      for (const listener of this.listeners) listener(failure);
    } finally {
      this.#renewing.delete(held);
    }
  }
}
