import {
  EventloomError,
  InvalidRequestError,
  type MaybePromise,
  type OnBusy,
  type OpenRun,
  type Platform,
  SessionBusyError,
  type SessionKey,
  SessionNotFoundError,
  ShuttingDownError,
  StaleWriterError,
  StorageError,
  UnfinishedRunError,
} from '@eventloom/core';
import { faultOfLeftRun, reasonOf } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { ServerBusyError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';
import type { RunHub } from './run-hub.ts';
import type { RunLog } from './run-log.ts';
import { runName } from './run-memory.ts';

/**
 * The treatment of runs that a process left when it ended; a run that is not resumable is never resumed: see
 * `ServerOptions.onUnfinishedRuns`.
 */
export type OnUnfinishedRuns = 'resume' | 'close' | 'leave';

/** A run and its session. */
type RunKey = Pick<OpenRun, 'appName' | 'userId' | 'sessionId' | 'invocationId'>;

/** A cancelled run, and the attempt at it that was cancelled. */
type CancelledRun = Pick<RunLog, 'key' | 'invocationId' | 'attempt'>;

/** Parameters of `UnfinishedRuns`. */
interface UnfinishedRunsParams {
  readonly runners: readonly Runner[];
  readonly hub: RunHub;
  readonly action: OnUnfinishedRuns;
  readonly limits: ServerLimits;
  readonly platform: Platform;
  /** Receives the first error of a series of failed searches, and once each run that can be neither resumed nor closed. */
  readonly report: (error: unknown) => void;
}

/** A lease that ends later is asked for nevertheless: it may have been granted while the clock was ahead, to a process that was killed. */
const MAX_HELD_MS = 60_000;
/** Maximum number of runs in a page: small, so that the page is still current when its last run is checked. */
const PAGE = 50;
/** Number of runs without a place after which a search ends: the next one begins when a run has ended. */
const MAX_WAITING = 1000;
/** Maximum time between two searches while the end of a cancelled run is not stored, in milliseconds. */
const CANCELLED_EVERY_MS = 1000;
/** The minimum time between two searches. */
const MIN_DELAY_MS = 100;
/** A left run that waits for a place. */
interface PostponedRun {
  readonly runner: Runner;
  readonly run: OpenRun;
}

/**
 * Errors after which a run is skipped: another process took its session, the session was deleted, this server shuts down, or the session
 * has another open run, so this one has ended.
 */
const ELSEWHERE = [SessionBusyError, SessionNotFoundError, StaleWriterError, ShuttingDownError, UnfinishedRunError];

/**
 * Resumes or closes the unfinished runs of processes that ended. Skips runs whose session is locked: the process that
 * holds the lock is alive, or its lease will expire. If several servers find a run, the one that locks its session
 * resumes it.
 *
 * | what begins it | which runs | calls |
 * |---|---|---|
 * | `start`: a timer | all that were left | `#searchThenSchedule` → `search` |
 * | `search`: the embedding program, or a reader of a left run | all that were left | `#searchWhileAsked` → `#searchOnce` → `#searchRunner`, a runner → `#resumeOrClose`, a run |
 * | `finish`: a message that wants the session, or a cancellation in it | that of the session | `#resumeOrClose`, until the end of the run |
 * | `resume`: a client that sends its request again | that of the request | `#startResumed` |
 */
export class UnfinishedRuns {
  readonly #params: UnfinishedRunsParams;
  /** Number of active runs that were resumed here. */
  #resumed = 0;
  /** Number of these runs by user. */
  readonly #resumedOfUsers = new Map<string, number>();
  /** Promises that resolve when a run that this search resumed has locked its session, or failed to. */
  readonly #begins: Promise<unknown>[] = [];
  /** True if more unfinished runs exist than `maxResumedRuns` allows at a time. */
  #hasMore = false;
  #searching: Promise<number | undefined> | undefined;
  #isAsked = false;
  /**
   * The cancelled runs of this process whose end could not be stored, by name. They are closed instead of resumed. A run that was resumed
   * since, in any process, is not closed: its client has to cancel it again.
   */
  readonly #cancelled = new Map<string, CancelledRun>();
  /** Remaining work for resumed runs that have ended. */
  readonly #endings = new Set<Promise<void>>();
  /** The listener of `onEnded`. */
  #listener: ((run: RunKey) => void) | undefined;
  #callOff: (() => void) | undefined;
  #hasFailed = false;
  /** The names of the runs that the last search could neither resume nor close. */
  #failing: ReadonlySet<string> = new Set();
  #isStopped = false;

  constructor(params: UnfinishedRunsParams) {
    this.#params = params;
  }

  /** Calls the listener when this process has resumed a run to its end, or closed it. Replaces an earlier listener. */
  onEnded(listener: (run: RunKey) => void): void {
    this.#listener = listener;
  }

  /** Searches now, and then at intervals. The searches do not keep the process alive. */
  start(): void {
    if (this.#params.limits.unfinishedRunsEveryMs === 0) return;
    void this.#searchThenSchedule();
  }

  /**
   * Finishes an unfinished run because another run needs its session. Resolves when it has ended, or was closed.
   *
   * @throws the errors of closing it
   */
  async finish(run: OpenRun): Promise<void> {
    const active = this.#params.hub.inFlightRun(run, run.invocationId);
    if (active) return active.log.ended;
    const runner = this.#runnerOf(run.appName);
    if (runner && !(await this.#closeIfCancelled(run))) await this.#resumeOrClose(runner, run, true);
  }

  /**
   * Resumes an unfinished run because a client asks for it, even if the server's policy is to close or leave unfinished runs. Resolves when
   * the run has its session. Does not change a run that cannot be resumed.
   *
   * @param id the run's invocation id, or a request id that it was begun with
   */
  async resume(runner: Runner, key: SessionKey, id: string): Promise<void> {
    const { hub, limits, platform } = this.#params;
    const { invocationId = '', open } = (await runner.sessionService.findRun({ ...key, id })) ?? {};
    if (!open || isHeld(open, platform.now()) || faultOfLeftRun(open, limits.maxRunAttempts)) return;
    if (hub.inFlightRun(key, invocationId)) return;
    void this.#startResumed(runner, { ...key, invocationId, ...open }, 'queue');
    await hub.inFlightRun(key, invocationId)?.whenBegun();
  }

  /** Stores the end of a run that was left open here and that no process can continue, for this reason. */
  async close({ key, invocationId }: Pick<RunLog, 'key' | 'invocationId'>, reason: string): Promise<void> {
    const runner = this.#runnerOf(key.appName);
    if (runner) await this.#close(runner, { ...key, invocationId }, reason, 'queue');
  }

  /**
   * Stops resuming and closing runs. Resolves when the work in progress is done, and the cancelled runs are closed if
   * their ends can be stored now.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#callOff?.();
    await this.#searching;
    await this.#params.hub.whenIdle();
    for (const run of this.#cancelled.values()) void this.#track(this.#closeAttempt(run));
    await Promise.all(this.#endings);
  }

  /** Notes that the end of a cancelled run of this process could not be stored, and searches soon: another process may resume the run. */
  noteCancelled({ key, invocationId, attempt }: CancelledRun): void {
    this.#cancelled.set(runName(key, invocationId), { key, invocationId, attempt });
    if (this.#callOff && !this.#isStopped) this.#schedule(CANCELLED_EVERY_MS);
  }

  /**
   * Searches all open runs once, and resumes or closes those whose process ended. Resolves when each resumed run has
   * locked its session, before the run ends. Never rejects.
   *
   * @returns the milliseconds until the first lock of another process expires; undefined if there is none
   */
  search(): Promise<number | undefined> {
    if (this.#isStopped) return Promise.resolve(undefined);
    this.#isAsked = true;
    this.#searching ??= this.#searchWhileAsked().finally(() => (this.#searching = undefined));
    return this.#searching;
  }

  /** Searches again for callers that asked during a search: they may know of runs that did not exist when it began. */
  async #searchWhileAsked(): Promise<number | undefined> {
    let freeInMs: number | undefined;
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      freeInMs = await this.#searchOnce();
    }
    return freeInMs;
  }

  async #searchThenSchedule(): Promise<void> {
    this.#callOff?.();
    const freeInMs = await this.search();
    if (this.#isStopped) return;
    const everyMs = this.#cancelled.size > 0 ? CANCELLED_EVERY_MS : Infinity;
    this.#schedule(Math.min(freeInMs ?? Infinity, everyMs, this.#params.limits.unfinishedRunsEveryMs));
  }

  #schedule(delayMs: number): void {
    const { platform } = this.#params;
    this.#callOff?.();
    const search = (): void => void this.#searchThenSchedule();
    this.#callOff = platform.schedule(Math.max(MIN_DELAY_MS, delayMs), search, { idle: true });
  }

  async #searchOnce(): Promise<number | undefined> {
    this.#hasMore = false;
    let freeMs = Infinity;
    const over = new Set(this.#cancelled.keys());
    const failing = new Set<string>();
    const postponed: PostponedRun[] = [];
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed) this.#params.report(error);
        this.#hasFailed = true;
      }
    };
    for (const runner of this.#params.runners)
      await attempt(async () => {
        freeMs = Math.min(freeMs, await this.#searchRunner(runner, over, failing, postponed));
      });
    // Places that no other user needs.
    for (const { runner, run } of postponed)
      if (!this.#isStopped) await attempt(() => this.#tryEach(runner, run, failing));
    if (!this.#hasMore && !this.#hasFailed) for (const name of over) this.#cancelled.delete(name);
    this.#failing = failing;
    await Promise.all(this.#begins.splice(0));
    return freeMs === Infinity ? undefined : Math.max(0, freeMs - this.#params.platform.now());
  }

  /**
   * Searches the open runs of one runner. Returns the time at which the first locked session becomes free, in
   * milliseconds since the epoch.
   *
   * @param over names of cancelled runs; those of open runs are removed
   * @param failing gets the names of the runs that can be neither resumed nor closed
   * @param postponed gets runs of users who have as many places as are left
   */
  async #searchRunner(
    runner: Runner,
    over: Set<string>,
    failing: Set<string>,
    postponed: PostponedRun[],
  ): Promise<number> {
    let freeMs = Infinity;
    let cursor: string | undefined;
    let waiting = 0;
    do {
      const page = await runner.listOpenRuns({ limit: PAGE, cursor });
      for (const run of page.runs) {
        if (this.#isStopped || waiting > MAX_WAITING) return freeMs;
        const name = runName(run, run.invocationId);
        over.delete(name);
        if (this.#params.hub.inFlightRun(run, run.invocationId)) continue;
        if (!this.#cancelled.has(name)) {
          if (isHeld(run, this.#params.platform.now())) {
            freeMs = Math.min(freeMs, run.heldUntilMs);
            continue;
          }
          const places = this.#placesFor(run);
          if (places === 'shared' && postponed.length < this.#params.limits.maxResumedRuns) {
            postponed.push({ runner, run });
            continue;
          }
          if (places !== 'free') {
            this.#hasMore = true;
            waiting++;
            continue;
          }
        }
        await this.#tryEach(runner, run, failing);
        // The server has no room for further runs.
        if (this.#hasMore) waiting++;
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return freeMs;
  }

  /**
   * Returns whether a run may be resumed now: `free`, also for a run that needs no place; `shared` if its user has as
   * many places as are left, which are for others; `taken` if there is none.
   */
  #placesFor(run: OpenRun): 'free' | 'shared' | 'taken' {
    const { action, limits } = this.#params;
    if (action !== 'resume' || faultOfLeftRun(run, limits.maxRunAttempts) !== undefined) return 'free';
    const left = limits.maxResumedRuns - this.#resumed;
    if (left <= 0) return 'taken';
    return (this.#resumedOfUsers.get(run.userId) ?? 0) < left ? 'free' : 'shared';
  }

  /** Resumes or closes a run of a search, unless it is held. Reports a failure. @throws StorageError */
  async #tryEach(runner: Runner, run: OpenRun, failing: Set<string>): Promise<void> {
    try {
      // The session of a cancelled run may still be locked for the attempt that was cancelled.
      if (await this.#closeIfCancelled(run)) return;
      // To resume or close a run that was cancelled since the page was read would open it again for a moment.
      if (await this.#isLeft(runner, run)) await this.#resumeOrClose(runner, run);
    } catch (error) {
      if (StorageError.isInstance(error)) throw error;
      // The runs of other sessions must not wait for this one.
      const name = runName(run, run.invocationId);
      failing.add(name);
      if (!this.#failing.has(name)) this.#params.report(staysOpenError(run, error));
    }
  }

  /**
   * Resumes or closes one run.
   *
   * @param isWanted true if another run waits for the session: then the unfinished run is resumed in any case, and the
   * promise resolves at its end
   */
  async #resumeOrClose(runner: Runner, run: OpenRun, isWanted = false): Promise<void> {
    const { action, limits } = this.#params;
    // A client resumes it. A run that cannot be resumed is closed, because nobody else ends it.
    if (action === 'leave' && run.resumable && !isWanted) return;
    // The message that waits for the end of the run may itself be queued for the session, so the run is queued as well.
    const onBusy = isWanted ? 'queue' : 'reject';
    const fault =
      action === 'close'
        ? 'its process ended before the run, or lost its storage, and this server does not resume such runs'
        : faultOfLeftRun(run, limits.maxRunAttempts);
    if (fault !== undefined) {
      await this.#close(runner, run, fault, onBusy);
    } else if (isWanted || this.#resumed < limits.maxResumedRuns) {
      const ended = this.#startResumed(runner, run, onBusy);
      if (isWanted) await ended;
    } else {
      this.#hasMore = true;
    }
  }

  /** Closes the run if it was cancelled and not resumed since. True if it was closed. */
  #closeIfCancelled(run: OpenRun): MaybePromise<boolean> {
    const cancelled = this.#cancelled.get(runName(run, run.invocationId));
    return cancelled !== undefined && this.#closeAttempt(cancelled);
  }

  /**
   * Stores the end of a cancelled run. False if its session was locked since the attempt that was cancelled: that is no
   * longer to be closed.
   */
  async #closeAttempt({ key, invocationId, attempt }: CancelledRun): Promise<boolean> {
    const { appName, userId, sessionId } = key;
    const params = { userId, sessionId, invocationId, attempt, onBusy: 'interrupt' } as const;
    let isClosed = true;
    try {
      await this.#runnerOf(appName)?.cancelRun(params);
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      isClosed = false;
    }
    this.#cancelled.delete(runName(key, invocationId));
    return isClosed;
  }

  /** Returns a promise that resolves when the run has ended; undefined if it could not be resumed. */
  #startResumed(runner: Runner, run: OpenRun, onBusy: OnBusy): Promise<void> | undefined {
    const { userId, sessionId, invocationId } = run;
    const params = { userId, sessionId, invocationId, runConfig: { onBusy } };
    try {
      const started = this.#params.hub.start(runner, params, { failsOnOpenRun: true });
      const { log } = started;
      this.#count(userId, 1);
      if (onBusy === 'reject') this.#begins.push(started.whenBegun());
      return log.ended.then(() => this.#ended(runner, run, log.end?.failure, onBusy));
    } catch (error) {
      if (ServerBusyError.isInstance(error)) this.#hasMore = true;
      else if (!isElsewhere(error)) throw error;
      return undefined;
    }
  }

  /** Counts a run of a user that was resumed here, or has ended. */
  #count(userId: string, change: 1 | -1): void {
    this.#resumed += change;
    const ofUser = (this.#resumedOfUsers.get(userId) ?? 0) + change;
    if (ofUser === 0) this.#resumedOfUsers.delete(userId);
    else this.#resumedOfUsers.set(userId, ofUser);
  }

  #runnerOf(name: string): Runner | undefined {
    return this.#params.runners.find(({ appName }) => appName === name);
  }

  /** Returns the work that remains for the run: a further attempt in the queue for its session, or its closing. */
  #ended(runner: Runner, run: OpenRun, failure: Error | undefined, onBusy: OnBusy): Promise<void> | undefined {
    this.#count(run.userId, -1);
    this.#listener?.(run);
    if (this.#isStopped) return undefined;
    let ending: Promise<void> | undefined;
    if (SessionBusyError.isInstance(failure) && onBusy === 'reject') {
      ending = this.#resumeInLine(runner, run);
    } else if (InvalidRequestError.isInstance(failure)) {
      // The run cannot be resumed, for example because its agent was removed. For a completed run, closing does
      // nothing.
      ending = this.#close(runner, run, `the run cannot be resumed: ${failure.publicMessage}`, 'reject');
    }
    if (this.#hasMore) void (this.#callOff ? this.#searchThenSchedule() : this.search());
    return ending && this.#track(ending);
  }

  /** Resumes a run by adding it to the queue of messages for its session. */
  async #resumeInLine(runner: Runner, run: OpenRun): Promise<void> {
    const isLeft = await this.#isLeft(runner, run);
    if (isLeft && !this.#isStopped) void this.#startResumed(runner, run, 'queue');
  }

  /** Reports a failure of this work, and makes `stop` wait for the work. Never rejects. */
  #track(work: Promise<unknown>): Promise<void> {
    const tracked = work.then(() => undefined, this.#params.report).finally(() => this.#endings.delete(tracked));
    this.#endings.add(tracked);
    return tracked;
  }

  async #close(runner: Runner, run: RunKey, reason: string, onBusy: OnBusy): Promise<void> {
    const { userId, sessionId, invocationId } = run;
    try {
      await runner.closeRun({ userId, sessionId, invocationId, reason, onBusy });
      this.#listener?.(run);
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      const isRefused = SessionBusyError.isInstance(error) && onBusy === 'reject';
      if (isRefused && (await this.#isLeft(runner, run))) await this.#close(runner, run, reason, 'queue');
    }
  }

  /**
   * True if the run is open and no process holds its session, so that only queued messages are before it. None of them begins before the
   * run has ended: each is refused immediately, until the queue reaches the run.
   */
  async #isLeft({ sessionService }: Runner, { invocationId, ...key }: RunKey): Promise<boolean> {
    const found = await sessionService.findRun({ ...key, id: invocationId });
    return found?.open !== undefined && !isHeld(found.open, this.#params.platform.now());
  }
}

/** True if a lease holds the session of the run, according to its time. The storage decides, and shortens leases that end too late. */
function isHeld({ heldUntilMs }: Pick<OpenRun, 'heldUntilMs'>, nowMs: number): boolean {
  return heldUntilMs > nowMs && heldUntilMs <= nowMs + MAX_HELD_MS;
}

/** Creates the error to report for a run that could be neither resumed nor closed. Each search tries again. */
function staysOpenError({ sessionId, invocationId }: OpenRun, cause: unknown): StorageError {
  const run = `the run ${invocationId} of session ${JSON.stringify(sessionId)}`;
  return new StorageError(`${run} stays open, because it can be neither resumed nor closed: ${reasonOf(cause)}`, {
    cause,
  });
}

function isElsewhere(error: unknown): boolean {
  return EventloomError.isInstance(error) && ELSEWHERE.some((type) => type.isInstance(error));
}
