import {
  EventloomError,
  type MaybePromise,
  type OpenRun,
  SessionBusyError,
  SessionNotFoundError,
  ShuttingDownError,
  StaleWriterError,
  UnfinishedRunError,
} from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { RunLog } from './run-log.ts';
import { runName } from './run-memory.ts';

/** A run and its session. */
export type RunKey = Pick<OpenRun, 'appName' | 'userId' | 'sessionId' | 'invocationId'>;

/** A cancelled run, and the attempt at it that was cancelled. */
export type CancelledRun = Pick<RunLog, 'key' | 'invocationId' | 'attempt'>;

/**
 * Errors after which a run is skipped: another process took its session, the session was deleted, this server shuts down, or the session
 * has another open run, so this one has ended.
 */
const ELSEWHERE = [SessionBusyError, SessionNotFoundError, StaleWriterError, ShuttingDownError, UnfinishedRunError];

/** True for an error after which a run is left to others: see `ELSEWHERE`. */
export function isElsewhere(error: unknown): boolean {
  return EventloomError.isInstance(error) && ELSEWHERE.some((type) => type.isInstance(error));
}

/**
 * The cancelled runs of this process whose end could not be stored. They are closed instead of resumed. A run that was resumed since, in
 * any process, is not closed: its client has to cancel it again.
 */
export class CancelledRuns {
  readonly #runners: readonly Runner[];
  /** The runs by `runName`. */
  readonly #runs = new Map<string, CancelledRun>();

  constructor(runners: readonly Runner[]) {
    this.#runners = runners;
  }

  get size(): number {
    return this.#runs.size;
  }

  add({ key, invocationId, attempt }: CancelledRun): void {
    this.#runs.set(runName(key, invocationId), { key, invocationId, attempt });
  }

  has(run: RunKey): boolean {
    return this.#runs.has(runName(run, run.invocationId));
  }

  /** Returns the `runName` of each run. */
  names(): Set<string> {
    return new Set(this.#runs.keys());
  }

  /** Removes runs that have ended, by `runName`. */
  forget(ended: Iterable<string>): void {
    for (const name of ended) this.#runs.delete(name);
  }

  /** Stores the end of a run if it was cancelled and not resumed since. True if the end was stored. */
  close(run: RunKey): MaybePromise<boolean> {
    const cancelled = this.#runs.get(runName(run, run.invocationId));
    return cancelled !== undefined && this.#close(cancelled);
  }

  /** Stores the ends of all runs. Returns a promise for each, which rejects if its end cannot be stored. */
  closeAll(): Promise<unknown>[] {
    return Array.from(this.#runs.values(), (cancelled) => this.#close(cancelled));
  }

  /** False if the session was locked since the attempt that was cancelled: the run is no longer to be closed. */
  async #close({ key, invocationId, attempt }: CancelledRun): Promise<boolean> {
    const { appName, userId, sessionId } = key;
    const runner = this.#runners.find((each) => each.appName === appName);
    let isClosed = true;
    try {
      await runner?.cancelRun({ userId, sessionId, invocationId, attempt, onBusy: 'interrupt' });
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      isClosed = false;
    }
    this.#runs.delete(runName(key, invocationId));
    return isClosed;
  }
}
