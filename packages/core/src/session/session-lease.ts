import type { RunOutcome } from './open-run.ts';
import type { SessionKey } from './session-key.ts';

/**
 * The right to write to one session. Only the lease with the highest epoch can write: every write carries its epoch, and is
 * refused with StaleWriterError once a later lease exists or this one was released.
 */
export interface SessionLease extends SessionKey {
  /**
   * Fencing token: each lease of a session has a higher epoch than the one before, also if the session was deleted and
   * created again. The remainder of a division by 998 grows by one with each lease of the session, and begins again at
   * 0: it orders attempts at a run in few digits.
   */
  readonly epoch: number;
  /** Time after which another writer may take over, unless the lease is renewed, in milliseconds. Every append renews it. */
  readonly ttlMs: number;
  /** Id of the run that `beginRun` acquired the lease for. Absent for a lease of `acquireLease`. */
  readonly invocationId?: string;
}

/** See `SessionLease.epoch`. */
export const EPOCH_CYCLE = 998;

/** Behaviour when another lease holds the session: see `AcquireLeaseRequest.onBusy`. */
export type OnBusy = 'queue' | 'reject' | 'interrupt';

/** Parameters of `acquireLease`. */
export interface AcquireLeaseRequest extends SessionKey {
  /** Lifetime without a renewal, in milliseconds: a session is free again this long after its owner crashed. Default 30,000. */
  readonly ttlMs?: number;
  /**
   * `queue` (default) waits in first-come order, which includes callers in other processes on the same storage, ordered by
   * their clocks. `reject` throws SessionBusyError at once, also if only other callers wait. `interrupt` takes the session
   * over, and the former owner's next write fails with StaleWriterError.
   */
  readonly onBusy?: OnBusy;
  /** Time that `queue` waits before it throws SessionBusyError, in milliseconds. Default 60,000; at most one day. */
  readonly waitMs?: number;
  /** Ends the wait: the call then throws RunAbortedError. */
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * True if the run of a released lease stays the session's open run, because it will be resumed. `without-attempt`: the same,
 * and this attempt does not count towards the limit of attempts, because the run was stopped on purpose.
 */
export type KeepRunOpen = boolean | 'without-attempt';

/** Options of releasing a lease. */
export interface ReleaseLeaseOptions {
  /** True keeps the run open, because it will be resumed. Default false: the run has ended. */
  readonly keepRunOpen?: KeepRunOpen | undefined;
  /** The outcome of the lease's run, for its record. Ignored with `keepRunOpen`. Absent: the recorded outcome stays as it is. */
  readonly outcome?: RunOutcome | undefined;
  /**
   * Ids of runs, requests and webhooks to remove from the session's records: ids that `beginRun` recorded for this lease and that no
   * event was stored for. A run is removed with its webhooks. Default: none.
   */
  readonly forget?: readonly string[] | undefined;
}
