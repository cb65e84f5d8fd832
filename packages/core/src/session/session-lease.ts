import type { SessionKey } from './session.ts';

/**
 * The right to write to one session. Of all the leases ever given for a session only the one with the highest epoch can write:
 * every write carries its epoch and is refused (StaleWriterError) once a later one exists or this one was released.
 */
export interface SessionLease extends SessionKey {
  /** Grows by at least one with every lease of the session: a fencing token. */
  readonly epoch: number;
  /** Milliseconds after which the lease may be taken over unless it is renewed. Every append renews it. */
  readonly ttlMs: number;
}

/** What to do when somebody else holds the session. */
export type OnBusy = 'queue' | 'reject' | 'interrupt';

/** Asks for a lease. */
export interface AcquireLeaseRequest extends SessionKey {
  /** Default 30,000 ms. A crashed owner's session is free again after this long. */
  readonly ttlMs?: number;
  /**
   * `queue` (default) waits its turn, in order of asking; `reject` fails at once; `interrupt` takes the session over, and the
   * former owner's next write fails.
   */
  readonly onBusy?: OnBusy;
  /** How long `queue` waits. Default 60,000 ms. */
  readonly waitMs?: number;
  /** Gives up waiting. */
  readonly abortSignal?: AbortSignal | undefined;
}
