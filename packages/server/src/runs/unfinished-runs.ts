import {
  InvalidRequestError,
  type OnBusy,
  type OpenRun,
  type OpenRunState,
  type Platform,
  SessionBusyError,
  type SessionKey,
  StorageError,
} from '@eventloom/core';
import { faultOfLostRun, openRuns, reasonOf } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { ServerBusyError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';
import { type CancelledRun, CancelledRuns, isElsewhere, type RunKey } from './cancelled-runs.ts';
import type { RunHub } from './run-hub.ts';
import type { RunLog } from './run-log.ts';
import { runName } from './run-memory.ts';

/**
 * The treatment of runs that a process left when it ended; a run that is not resumable is never resumed: see
 * `ServerOptions.onUnfinishedRuns`.
 */
export type OnUnfinishedRuns = 'resume' | 'close' | 'leave';

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
/** Number of runs without room after which a search ends: the next one begins when a run has ended. */
const MAX_WAITING = 1000;
/** Maximum time between two searches while the end of a cancelled run is not stored, in milliseconds. */
const CANCELLED_EVERY_MS = 1000;
/** The minimum time between two searches. */
const MIN_DELAY_MS = 100;

/**
 * The states of an open run that a search finds.
 *
 * | state | the run | the search |
 * |---|---|---|
 * | `inFlight` | is active in this process, or waits here for its session | skips it |
 * | `held` | belongs to a process that holds its session, or whose lease has not expired | begins again at the end of the lease |
 * | `due` | was left, and there is room to resume it, or it is not resumed; or it was cancelled here | resumes or closes it |
 * | `shared` | was left, and its user has as many resumed runs as there is room left | resumes it after the runs of other users, in room that their `held` runs will not need soon |
 * | `waiting` | was left, and there is no room to resume it | begins again when a resumed run has ended |
 */
type FoundState = 'inFlight' | 'held' | 'due' | 'shared' | 'waiting';

/**
 * Resumes or closes the unfinished runs of processes that ended. Skips runs whose session is locked: the process that
 * holds the lock is alive, or its lease will expire. If several servers find a run, the one that locks its session
 * resumes it.
 *
 * | what begins it | which runs | calls | resolves |
 * |---|---|---|---|
 * | `start`: a timer | all that were left | `#searchThenSchedule` → `search` | |
 * | `search`: the embedding program, or a reader of a left run | all that were left | `#searchOnce` → `#handleFound` | when each resumed run has its session |
 * | `finish`: a message that wants the session, or a cancellation in it | that of the session | `#startResumed` or `#close` | when the run has ended |
 * | `resume`: a client that sends its request again | that of the request | `#startResumed` | when the run has its session, or after a second |
 */
export class UnfinishedRuns {
  readonly #params: UnfinishedRunsParams;
  readonly #quota: ResumeQuota;
  readonly #cancelled: CancelledRuns;
  /** Promises that resolve when a run that this search resumed has locked its session, or failed to. */
  readonly #begins: Promise<unknown>[] = [];
  /** True if more unfinished runs exist than `maxResumedRuns` allows at a time. */
  #hasMore = false;
  #searching: Promise<number | undefined> | undefined;
  /** True once a caller wants a search that has not begun. */
  #isSearchDue = false;
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
    this.#quota = new ResumeQuota(params.limits.maxResumedRuns);
    this.#cancelled = new CancelledRuns(params.runners);
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
    if (!runner || (await this.#cancelled.close(run))) return;
    const fault = this.#faultOf(run);
    // The message that waits for the end of the run may itself be queued for the session, so the run is queued as well.
    await (fault === undefined ? this.#startResumed(runner, run, 'queue') : this.#close(runner, run, fault, 'queue'));
  }

  /**
   * Resumes an unfinished run because a client asks for it, even if the server's policy is to close or leave unfinished runs. Resolves when
   * the run has its session, at the latest after a second. Does not change a run that cannot be resumed.
   *
   * @param id the run's invocation id, or a request id that it was begun with
   */
  async resume(runner: Runner, key: SessionKey, id: string): Promise<void> {
    const { hub, limits, platform } = this.#params;
    const { invocationId = '', open } = (await runner.sessionService.findRun({ ...key, id })) ?? {};
    if (!open || isHeld(open, platform.now()) || faultOfLostRun(open, limits.maxRunAttempts)) return;
    if (hub.inFlightRun(key, invocationId)) return;
    void this.#startResumed(runner, { ...key, invocationId, ...open }, 'queue');
    await hub.whenContinued(key, invocationId);
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
    for (const closing of this.#cancelled.closeAll()) void this.#track(closing);
    await Promise.all(this.#endings);
  }

  /** Notes that the end of a cancelled run of this process could not be stored, and searches soon: another process may resume the run. */
  noteCancelled(run: CancelledRun): void {
    this.#cancelled.add(run);
    if (this.#callOff && !this.#isStopped) this.#schedule(CANCELLED_EVERY_MS);
  }

  /**
   * Searches all open runs once, and resumes or closes those whose process ended. Resolves when each resumed run has
   * locked its session, before the run ends. Never rejects.
   *
   * @returns the milliseconds until the first lock of another process expires, at most a minute; undefined if there is none
   */
  search(): Promise<number | undefined> {
    if (this.#isStopped) return Promise.resolve(undefined);
    this.#isSearchDue = true;
    this.#searching ??= this.#searchWhileAsked().finally(() => (this.#searching = undefined));
    return this.#searching;
  }

  /** Searches again for callers that asked during a search: they may know of runs that did not exist when it began. */
  async #searchWhileAsked(): Promise<number | undefined> {
    let freeInMs: number | undefined;
    while (this.#isSearchDue && !this.#isStopped) {
      this.#isSearchDue = false;
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

  /** Handles each open run once. See `search`. */
  async #searchOnce(): Promise<number | undefined> {
    const { runners, limits, platform } = this.#params;
    this.#hasMore = false;
    let freeMs = Infinity;
    // Cancelled runs; those that are still open are removed.
    const ended = this.#cancelled.names();
    const failing = new Set<string>();
    const last: { readonly runner: Runner; readonly run: OpenRun }[] = [];
    // The users of held runs that are probably left.
    const soonLeft: string[] = [];
    for (const runner of runners)
      await this.#attempt(async () => {
        let waiting = 0;
        for await (const run of openRuns(runner.sessionService, runner.appName, PAGE)) {
          if (this.#isStopped || waiting > MAX_WAITING) return;
          ended.delete(runName(run, run.invocationId));
          const state = this.#stateOf(run);
          // Also for a run that is asked for although its lease has not expired, because it may be refused.
          if (state !== 'inFlight' && run.heldUntilMs > platform.now())
            freeMs = Math.min(freeMs, run.heldUntilMs, platform.now() + MAX_HELD_MS);
          if (state === 'held') {
            // A process that lives renews its leases before half of their time has passed.
            if (run.heldUntilMs - platform.now() <= runner.sessions.ttlMs / 2) soonLeft.push(run.userId);
          } else if (state === 'due') {
            await this.#handleFound(runner, run, failing);
            // The server has no room for further runs.
            if (this.#hasMore) waiting++;
          } else if (state === 'shared' && last.length < limits.maxResumedRuns) {
            last.push({ runner, run });
          } else if (state !== 'inFlight') {
            this.#hasMore = true;
            waiting++;
          }
        }
      });
    for (const { runner, run } of last) {
      if (this.#isStopped) break;
      const needed = soonLeft.filter((userId) => userId !== run.userId).length;
      if (this.#quota.left > needed) await this.#attempt(() => this.#handleFound(runner, run, failing));
      else this.#hasMore = true;
    }
    if (!this.#hasMore && !this.#hasFailed) this.#cancelled.forget(ended);
    this.#failing = failing;
    await Promise.all(this.#begins.splice(0));
    return freeMs === Infinity ? undefined : Math.max(0, freeMs - platform.now());
  }

  /** Does a part of a search. Reports the first failure of a series, after which the other parts are done nevertheless. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#params.report(error);
      this.#hasFailed = true;
    }
  }

  #stateOf(run: OpenRun): FoundState {
    const { hub, platform, action } = this.#params;
    if (hub.inFlightRun(run, run.invocationId)) return 'inFlight';
    if (this.#cancelled.has(run)) return 'due';
    if (isHeld(run, platform.now())) return 'held';
    if (action !== 'resume' || this.#faultOf(run) !== undefined) return 'due';
    const room = this.#quota.roomFor(run.userId);
    if (room === 'free') return 'due';
    return room === 'none' ? 'waiting' : room;
  }

  /** Returns the reason to close a run instead of resuming it; undefined for a run to resume. */
  #faultOf(run: OpenRun): string | undefined {
    const { action, limits } = this.#params;
    return action === 'close'
      ? 'its process ended before the run, or lost its storage, and this server does not resume such runs'
      : faultOfLostRun(run, limits.maxRunAttempts);
  }

  /** Resumes or closes a run that a search found, unless its session is locked. Reports a failure. @throws StorageError */
  async #handleFound(runner: Runner, run: OpenRun, failing: Set<string>): Promise<void> {
    try {
      // The session of a cancelled run may still be locked for the attempt that was cancelled.
      if (await this.#cancelled.close(run)) return;
      // To resume or close a run that was cancelled since the page was read would open it again for a moment.
      if (!(await this.#isLost(runner, run))) return;
      // A client resumes it. A run that cannot be resumed is closed, because nobody else ends it.
      if (this.#params.action === 'leave' && run.resumable) return;
      const fault = this.#faultOf(run);
      if (fault !== undefined) await this.#close(runner, run, fault, 'reject');
      else if (this.#quota.roomFor(run.userId) === 'none') this.#hasMore = true;
      else void this.#startResumed(runner, run, 'reject');
    } catch (error) {
      if (StorageError.isInstance(error)) throw error;
      // The runs of other sessions must not wait for this one.
      const name = runName(run, run.invocationId);
      failing.add(name);
      if (!this.#failing.has(name)) this.#params.report(staysOpenError(run, error));
    }
  }

  /** Returns a promise that resolves when the run has ended; undefined if it could not be resumed. */
  #startResumed(runner: Runner, run: OpenRun, onBusy: OnBusy): Promise<void> | undefined {
    const { userId, sessionId, invocationId } = run;
    const params = { userId, sessionId, invocationId, runConfig: { onBusy } };
    try {
      const started = this.#params.hub.start(runner, params, { failsOnOpenRun: true });
      const { log } = started;
      this.#quota.count(userId, 1);
      if (onBusy === 'reject') this.#begins.push(started.whenBegun());
      return log.ended.then(() => this.#ended(runner, run, log.end?.failure, onBusy));
    } catch (error) {
      if (ServerBusyError.isInstance(error)) this.#hasMore = true;
      else if (!isElsewhere(error)) throw error;
      return undefined;
    }
  }

  #runnerOf(name: string): Runner | undefined {
    return this.#params.runners.find(({ appName }) => appName === name);
  }

  /** Returns the work that remains for the run: a further attempt in the queue for its session, or its closing. */
  #ended(runner: Runner, run: OpenRun, failure: Error | undefined, onBusy: OnBusy): Promise<void> | undefined {
    this.#quota.count(run.userId, -1);
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
    const isFree = await this.#isFree(runner, run);
    if (isFree && !this.#isStopped) void this.#startResumed(runner, run, 'queue');
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
      if (isRefused && (await this.#isFree(runner, run))) await this.#close(runner, run, reason, 'queue');
    }
  }

  /** True if the run is open and probably no process holds its session: it is worth a claim, which the storage may refuse. */
  async #isLost(runner: Runner, run: RunKey): Promise<boolean> {
    const open = await openState(runner, run);
    return open !== undefined && !isHeld(open, this.#params.platform.now());
  }

  /**
   * True if the run is open and no process holds its session, so that only queued messages are before it. None of them begins before the
   * run has ended: each is refused immediately, until the queue reaches the run. A run with a lease of any length does not join the
   * queue, because it might wait there until another process has ended it.
   */
  async #isFree(runner: Runner, run: RunKey): Promise<boolean> {
    const open = await openState(runner, run);
    return open !== undefined && open.heldUntilMs <= this.#params.platform.now();
  }
}

/** Counts the runs that this process resumed by itself, and shares its room for them between users. */
class ResumeQuota {
  readonly #maxRuns: number;
  #count = 0;
  readonly #ofUsers = new Map<string, number>();

  /** @param maxRuns `limits.maxResumedRuns` */
  constructor(maxRuns: number) {
    this.#maxRuns = maxRuns;
  }

  /** The number of runs for which there is room. */
  get left(): number {
    return Math.max(0, this.#maxRuns - this.#count);
  }

  /**
   * Returns the room for one more run of a user: `free`; `shared` if the user has as many runs as there is room left, which is for other
   * users first; `none` if the process has its maximum.
   */
  roomFor(userId: string): 'free' | 'shared' | 'none' {
    if (this.left === 0) return 'none';
    return (this.#ofUsers.get(userId) ?? 0) < this.left ? 'free' : 'shared';
  }

  /** Counts a run of a user that was resumed, or has ended. */
  count(userId: string, change: 1 | -1): void {
    this.#count += change;
    const ofUser = (this.#ofUsers.get(userId) ?? 0) + change;
    if (ofUser === 0) this.#ofUsers.delete(userId);
    else this.#ofUsers.set(userId, ofUser);
  }
}

/** Returns the state of a run in its session; undefined if it is not open. */
async function openState(
  { sessionService }: Runner,
  { invocationId, ...key }: RunKey,
): Promise<OpenRunState | undefined> {
  return (await sessionService.findRun({ ...key, id: invocationId }))?.open;
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
