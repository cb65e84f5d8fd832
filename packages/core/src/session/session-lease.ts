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
  /** The run that `beginRun` took it for. Absent for no run. */
  readonly invocationId?: string;
}

/** What to do when somebody else holds the session. */
export type OnBusy = 'queue' | 'reject' | 'interrupt';

/** Asks for a lease. */
export interface AcquireLeaseRequest extends SessionKey {
  /** Default 30,000 ms. A crashed owner's session is free again after this long. */
  readonly ttlMs?: number;
  /**
   * `queue` (default) waits its turn, in order of asking, also among several processes on one storage, as their clocks tell it;
   * `reject` fails at once, also while others wait; `interrupt` takes the session over, and the former owner's next write fails.
   */
  readonly onBusy?: OnBusy;
  /** How long `queue` waits. Default 60,000 ms, at most a day. */
  readonly waitMs?: number;
  /** Gives up waiting. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * Whether the run of a lease that is given back stays the session's open run, because it is to go on later. `uncounted` says that it
 * was stopped in order: the attempt does not count.
 */
export type LeaveOpen = boolean | 'uncounted';

/** How a lease is given back. */
export interface ReleaseLeaseOptions {
  /** Default false: the run has ended. */
  readonly leaveOpen?: LeaveOpen | undefined;
  /**
   * Ids of runs and requests that the session forgets: those that `beginRun` recorded for this lease and of which nothing was stored
   * after all. Default none.
   */
  readonly forget?: readonly string[] | undefined;
}
