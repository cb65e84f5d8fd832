import type { RunOutcome } from './open-run.ts';
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

/** Behaviour when another lease holds the session. */
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
  /** Time that `queue` waits, in milliseconds. Default 60,000, at most a day. */
  readonly waitMs?: number;
  /** Gives up waiting. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * True if the run of a released lease stays the session's open run, because it will be resumed. `uncounted`: it was
 * stopped in an orderly way, so the attempt does not count.
 */
export type LeaveOpen = boolean | 'uncounted';

/** Options of releasing a lease. */
export interface ReleaseLeaseOptions {
  /** Default false: the run has ended. */
  readonly leaveOpen?: LeaveOpen | undefined;
  /** The outcome of the run of the lease, for its record. Ignored with `leaveOpen`. Absent: the record says of the end what it said before. */
  readonly outcome?: RunOutcome | undefined;
  /**
   * Ids of runs and requests that the session forgets: those that `beginRun` recorded for this lease and of which nothing was stored
   * after all. Default none.
   */
  readonly forget?: readonly string[] | undefined;
}
