import {
  type BaseSessionService,
  type EventloomError,
  type MaybePromise,
  type Platform,
  type SessionLease,
  StaleWriterError,
  StorageError,
} from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';

/** Who holds a lease. */
export interface LeaseHolder {
  /** Called when the lease is lost: another writer has the session, or the storage could not be used until the lease ran out. */
  readonly onLost: (error: EventloomError) => void;
  /** The run, if there is one: nothing is repeated once it was aborted. */
  readonly run?: AbortableRun | undefined;
}

/** A run that can be aborted. Its guard also fires when only the work of its agent is stopped, before the end of the run is stored. */
export interface AbortableRun {
  readonly abortGuard: AbortGuard;
  /** Why the run was aborted, if it was. */
  readonly abortReason: EventloomError | undefined;
}

/** A lease that a run holds. */
export class HeldLease {
  readonly lease: SessionLease;
  /** When it was last renewed, by the keeper or by an append (then the event's time); milliseconds since the epoch. */
  renewedMs: number;
  isLost = false;
  readonly #platform: Platform;
  readonly #holder: LeaseHolder;

  constructor(lease: SessionLease, platform: Platform, holder: LeaseHolder) {
    this.lease = lease;
    this.renewedMs = platform.now();
    this.#platform = platform;
    this.#holder = holder;
  }

  lose(error: EventloomError): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#holder.onLost(error);
  }

  /**
   * Does work of the store under the lease. While the storage cannot be used the work is repeated, until the lease runs out, which loses it, or
   * the run is aborted. What a run does under its lease can be repeated: what happened already is not done twice.
   *
   * @param given handed to the work, so that an append needs no function of its own
   * @throws what the work threw last
   */
  write<T, A = undefined>(work: (given: A) => MaybePromise<T>, given: A): MaybePromise<T> {
    try {
      const done = work(given);
      return done instanceof Promise ? this.#repeat(done, work, given) : done;
    } catch (error) {
      return this.#repeat(Promise.reject(error), work, given);
    }
  }

  #repeat<T, A>(done: Promise<T>, work: (given: A) => MaybePromise<T>, given: A): Promise<T> {
    return done.catch(async (thrown: unknown) => {
      const { run } = this.#holder;
      const isAborted = (): boolean => run?.abortReason !== undefined;
      const { signal } = run?.abortGuard ?? {};
      try {
        return await repeatWhileAway(() => work(given), thrown, this.#platform, this.endMs, signal, isAborted);
      } catch (error) {
        if (isAway(error) && !isAborted()) this.lose(error);
        throw error;
      }
    });
  }

  /** When the lease runs out. */
  get endMs(): number {
    const { ttlMs } = this.lease;
    const nowMs = this.#platform.now();
    // An agent may date an event as it likes.
    const isKnown = this.renewedMs <= nowMs && this.renewedMs > nowMs - ttlMs;
    return (isKnown ? this.renewedMs : nowMs) + ttlMs;
  }
}

/** The pauses between attempts, without the chance that keeps runs from coming back at once. */
const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 1000;

/**
 * Repeats work that failed because the storage cannot be used, with pauses that grow, until a time or an abort.
 * @param signal ends a pause
 * @throws what the work threw last
 */
export async function repeatWhileAway<T>(
  work: () => MaybePromise<T>,
  thrown: unknown,
  platform: Platform,
  endMs: number,
  signal?: AbortSignal,
  isAborted = (): boolean => signal?.aborted === true,
): Promise<T> {
  let error = thrown;
  for (let pauseMs = FIRST_PAUSE_MS; isAway(error) && !isAborted(); pauseMs *= 2) {
    const leftMs = endMs - platform.now();
    if (leftMs <= 0) break;
    await pause(platform, Math.min(pauseMs, MAX_PAUSE_MS, leftMs) * (0.5 + Math.random() / 2), signal);
    try {
      return await work();
    } catch (again) {
      error = again;
    }
  }
  throw error;
}

function isAway(error: unknown): error is StorageError {
  return StorageError.isInstance(error) && error.retryable;
}

/** Ends after the delay, or when the signal fires. */
function pause(platform: Platform, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      callOff();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const callOff = platform.schedule(delayMs, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}

/**
 * Renews the leases of runs that have appended nothing for a while. One timer serves all runs, and it only runs while there are
 * any: a turn that ends quickly sets none of its own.
 */
export class LeaseKeeper {
  readonly #service: BaseSessionService;
  readonly #platform: Platform;
  readonly #held = new Set<HeldLease>();
  /** Those whose renewal is under way. */
  readonly #renewing = new Set<HeldLease>();
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

  /**
   * A failure that says nothing of the lease is the platform's to report: the next tick tries again, and appends are checked. So a run that
   * writes nothing outlives a storage that is away for longer than its lease, unless another writer takes the session.
   */
  async #renew(held: HeldLease, nowMs: number): Promise<void> {
    if (this.#renewing.has(held)) return;
    this.#renewing.add(held);
    const renew = (): MaybePromise<void> => (this.#held.has(held) ? this.#service.renewLease(held.lease) : undefined);
    try {
      try {
        await renew();
        held.renewedMs = nowMs;
      } catch (error) {
        await repeatWhileAway(renew, error, this.#platform, held.endMs);
        held.renewedMs = this.#platform.now();
      }
    } catch (error) {
      // Nobody needs the lease any more.
      if (!this.#held.has(held)) return;
      if (!StaleWriterError.isInstance(error)) throw error;
      held.lose(error);
    } finally {
      this.#renewing.delete(held);
    }
  }
}
