import {
  type EventloomError,
  type Platform,
  RunAbortedError,
  type RunBounds,
  type RunConfig,
  SessionBusyError,
  type SessionKey,
  ShuttingDownError,
  UnfinishedRunError,
} from '@eventloom/core';
import { RUN_CONFIG_DEFAULTS, within } from '@eventloom/core/internal';
import type { RunAsyncParams, Runner } from '@eventloom/runner';
import { ServerBusyError } from '../errors.ts';
import type { RequestQuota, UserQuotas } from '../http/user-quotas.ts';
import { boundsOf, type ServerLimits } from '../server-limits.ts';
import { ActiveRun, type HostedStream } from './active-run.ts';
import { type LogEnd, RunLog } from './run-log.ts';
import { isSameSession, RunMemory, runName } from './run-memory.ts';
import { endOfFailedRun, endOfUnconfirmedRun, reportFailure, SESSION_DELETED } from './failed-run.ts';
import { openError } from './run-mirror.ts';
import { RunCanceller } from './run-canceller.ts';
import { RunFollower } from './run-follower.ts';
import { RunReaders } from './run-readers.ts';
import type { RelayedLog, RemoteRun, RunRelay, RunStop } from './run-relay.ts';
import { type OnUnfinishedRuns, UnfinishedRuns } from './unfinished-runs.ts';

/** The parts of a Runner that a hub needs. */
export interface HostedRunner extends Pick<Runner, 'appName' | 'sessionService' | 'runConfig'> {
  runAsync(params: RunAsyncParams): HostedStream;
}

/** Options of `RunHub.start`. */
export interface StartOptions {
  /** True fails the run if its session has another unfinished run. Default false: that run is finished first. */
  readonly failsOnOpenRun?: boolean | undefined;
  /** Counts the run for its user. */
  readonly quota?: Pick<RequestQuota, 'count' | 'holds' | 'release'> | undefined;
}

/** Options of a `RunHub`. */
export interface RunHubOptions {
  readonly platform: Platform;
  readonly limits: ServerLimits;
  readonly quotas: UserQuotas;
  /** Called with each failure of a run and of a reader. */
  readonly report: (error: unknown) => void;
  /** Connects the processes of the server, if there are several. */
  readonly relay?: RunRelay | undefined;
  /** The runners whose unfinished runs are resumed or closed. Default: none. */
  readonly runners?: readonly Runner[] | undefined;
  readonly onUnfinishedRuns?: OnUnfinishedRuns | undefined;
}

/** Maximum number of unfinished runs that one run finishes before it fails, because a new unfinished run may appear each time. */
const MAX_FINISHED = 5;
/** Time that an aborted run has to clean up, in milliseconds. */
export const GRACE_MS = 1000;
/** Time for which requests wait for a resumed run to get its session, in milliseconds. */
const CONTINUE_MS = 1000;
/** Time that other processes have to end the runs of a session that is deleted, in milliseconds. */
const FORGET_MS = 5000;

/** Hosts the runs of a process: starts, finds and drains them. A run continues after its client disconnects. */
export class RunHub {
  readonly platform: Platform;
  readonly limits: ServerLimits;
  /** Called with each failure of a run. */
  readonly report: (error: unknown) => void;
  /** Resumes or closes the unfinished runs of other processes. */
  readonly unfinished: UnfinishedRuns;
  /** The connections that read runs. */
  readonly readers: RunReaders;
  /** Answers requests about runs in any process. */
  readonly follower: RunFollower;
  readonly canceller: RunCanceller;
  /** The bounds of the configs of all runs; undefined if there are none. */
  readonly #bounds: RunBounds | undefined;
  readonly #relay: RunRelay | undefined;
  readonly #quotas: UserQuotas;
  /** The logs of all runs, including finished runs that can still be read. */
  readonly #memory: RunMemory;
  /** The active runs, by `runName`. */
  readonly #active = new Map<string, ActiveRun>();
  /** The sessions that are being deleted. */
  readonly #deleting = new Set<SessionKey>();
  #isDraining = false;

  constructor(options: RunHubOptions) {
    const { platform, limits, quotas, report, relay, runners = [], onUnfinishedRuns = 'resume' } = options;
    this.platform = platform;
    this.limits = limits;
    this.#bounds = boundsOf(limits);
    this.report = report;
    this.#relay = relay;
    this.#quotas = quotas;
    this.#memory = new RunMemory(platform, limits);
    this.readers = new RunReaders(options);
    this.follower = new RunFollower(this, this.#memory, options);
    this.canceller = new RunCanceller(this, options);
    this.unfinished = new UnfinishedRuns({ hub: this, runners, action: onUnfinishedRuns, limits, platform, report });
    const stop = (key: SessionKey, invocationId: string, how: RunStop): void => this.#stop(key, invocationId, how);
    for (const { sessions } of runners) sessions.keeper.listeners.add(report);
    relay?.attach({ platform, keepRunsMs: limits.keepRunsMs, report, stop });
  }

  /** Number of active runs. */
  get inFlight(): number {
    return this.#active.size;
  }

  /** Resolves when no run is active; undefined if none is active now. Never rejects. */
  whenIdle(): Promise<void> | undefined {
    const runs = [...this.#active.values()];
    if (runs.length === 0) return undefined;
    return Promise.all(runs.map(({ log }) => log.ended)).then(() => this.whenIdle());
  }

  /** True once `drain` was called: no further run is started. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Starts a run and records it to its end, with or without readers. Takes the first step of the run before it returns. If this process
   * still has the log of an earlier attempt at a resumed run, the new log replaces it once the run has its session. If the session has an
   * unfinished run, that run is finished first, and can be followed and cancelled in this process; `runConfig.onOpenRun` can change this.
   * @throws ServerBusyError
   * @throws ShuttingDownError
   * @throws SessionBusyError if the run to resume is in flight here, and the parameters have no answers that could wait for its end
   */
  start(runner: HostedRunner, params: RunAsyncParams, options: StartOptions = {}): ActiveRun {
    const { userId, sessionId, newMessage, invocationId: resumed, runConfig: given } = params;
    const { failsOnOpenRun = false, quota } = options;
    const key = { appName: runner.appName, userId, sessionId };
    const onOpenRun = given?.onOpenRun ?? runner.runConfig.onOpenRun ?? RUN_CONFIG_DEFAULTS.onOpenRun;
    const onBusy = given?.onBusy ?? runner.runConfig.onBusy ?? RUN_CONFIG_DEFAULTS.onBusy;
    const isInFlight = resumed !== undefined && this.inFlightRun(key, resumed) !== undefined;
    if (this.#isDraining) throw shuttingDown();
    for (const deleting of this.#deleting) if (isSameSession(deleting, key)) throw new RunAbortedError(SESSION_DELETED);
    if (isInFlight && (!newMessage || onBusy !== 'queue'))
      throw new SessionBusyError(`the run ${resumed} is in flight, so it can be followed but not resumed`);
    if (this.#active.size >= this.limits.maxRuns)
      throw new ServerBusyError(
        'the server has its maximum number of runs in flight (limits.maxRuns); try again later',
      );
    const finishesOpenRun = onOpenRun === 'finish' && onBusy !== 'interrupt';
    const requestId = params.requestId ?? given?.requestId;
    const runConfig: RunConfig | undefined = finishesOpenRun ? { ...given, onOpenRun: 'reject' } : given;
    const controller = new AbortController();
    const abortSignal = controller.signal;
    const ifKnown = requestId === undefined ? undefined : 'reject';
    const stream = runner.runAsync({ ...params, runConfig, ifKnown, bounds: this.#bounds, abortSignal });
    const invocationId = resumed ?? stream.invocationId;
    const { startKind } = stream;
    // Answers to an active run are listed as that run once they have its session.
    const name = runName(key, isInFlight ? this.platform.newUuid() : invocationId);
    const waitingId = startKind === 'message' || requestId === undefined ? undefined : this.platform.newUuid();
    const log = new RunLog(this.#memory, { key, invocationId, requestId });
    const run = new ActiveRun({ log, stream, controller, name, waitingId });
    this.#active.set(name, run);
    if (startKind === 'message') log.publication = this.#relay?.publish(log);
    else if (waitingId !== undefined) log.publication = this.#relay?.publish(waitingRequest(run, waitingId));
    if (quota) quota.holds++;
    // Before the recording, because the log must know its position before the first event.
    void this.#listOnceBegun(run, quota);
    // Asks the stream for its first event, which starts the run, before it returns.
    void this.#record(run, runner, { finishesOpenRun: finishesOpenRun && !failsOnOpenRun, quota });
    return run;
  }

  /** Lists a run under its id once it has its session, because a resumed run may be another one than expected. */
  async #listOnceBegun(run: ActiveRun, quota: StartOptions['quota']): Promise<void> {
    const { log, stream } = run;
    await stream.whenBegun();
    if (!stream.begun) return;
    quota?.count('queued', -1);
    run.noteBegun(stream.invocationId, stream.begun);
    if (run.startKind === 'message') return;
    log.publication?.notify();
    log.publication?.forget();
    const name = runName(log.key, log.invocationId);
    if (this.#active.delete(run.name)) this.#active.set(name, run);
    run.name = name;
    this.#memory.drop(name);
    log.publication = this.#relay?.publish(log);
  }

  /**
   * Records a run until its end. Never rejects.
   *
   * @param how whether the unfinished run that holds the session is finished first, and the quota that counts the run's
   * wait for the session
   */
  async #record(
    run: ActiveRun,
    runner: HostedRunner,
    { finishesOpenRun, quota }: Pick<StartOptions, 'quota'> & { readonly finishesOpenRun: boolean },
  ): Promise<void> {
    const { log, key } = run;
    const runsOfUser = (): number => Math.max(this.#quotas.users.get(key.userId)?.runs ?? 0, 1);
    let end: LogEnd = { kind: 'completed' };
    try {
      for (let tries = 1; ; tries++) {
        try {
          await run.record(this.platform, runsOfUser);
          if (run.stream.failure) throw run.stream.failure;
          break;
        } catch (thrown) {
          if (!finishesOpenRun || !UnfinishedRunError.isInstance(thrown) || tries === MAX_FINISHED) throw thrown;
          await this.#finish(thrown, run, quota);
        }
      }
    } catch (thrown) {
      // If an event cannot be recorded, the run is closed, so that its session is unlocked.
      await run.stream.return().catch(() => undefined);
      if (!log.end) end = await endOfFailedRun(this, run, run.stream.failure ?? thrown, runner.sessionService);
    }
    if (!run.hasBegun) quota?.count('queued', -1);
    quota?.count('runs', -1);
    quota?.release();
    // The server may have shut down before the run ended.
    if (!log.end) this.#endLog(run, end);
  }

  /** Ends the log of a run, and keeps it for later readers if they can find it and it has something to read. */
  #endLog(run: ActiveRun, end: LogEnd): void {
    const { log } = run;
    const wasActive = this.#active.get(run.name) === run && this.#active.delete(run.name);
    // A refused request that would have continued a run is listed under the id of that run.
    const isListed = wasActive && (end.kind !== 'refused' || run.startKind === 'message');
    // The run that a cancelled request would have continued has not ended.
    if (end.kind === 'refused' && run.isCancelled) log.invocationId = run.waitingId ?? log.invocationId;
    log.endWith(end);
    switch (end.kind) {
      case 'continues':
        log.release();
        break;
      case 'deleted':
        this.#forget(log);
        break;
      case 'completed':
      case 'failed':
      case 'copied':
      case 'refused':
        // If a run failed before its first event, its error is the response to its request, and the log is not kept.
        if (isListed && (log.hasEvents || log.wasRead)) this.#memory.keep(run.name, log);
        else this.#forget(log);
    }
    if (end.failure) reportFailure(this, log, end);
  }

  #forget(log: RunLog): void {
    log.publication?.forget();
    log.release();
  }

  /**
   * Finishes the unfinished run that holds the session of a refused run, and starts the refused run again. Resolves also when the refused
   * run is aborted.
   *
   * @throws the error that prevents the end of the unfinished run
   */
  async #finish({ run }: UnfinishedRunError, refused: ActiveRun, quota: StartOptions['quota']): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    refused.abortSignal.addEventListener('abort', () => aborted.resolve(), { once: true });
    await Promise.race([this.unfinished.finish(run), aborted.promise]);
    // A server that shuts down does not finish other runs. The message is not stored, and can be sent again.
    if (this.#isDraining) throw shuttingDown();
    refused.stream = refused.stream.retry();
    void this.#listOnceBegun(refused, quota);
  }

  /** Returns a run of this session that is active in this process, or waits for its session. */
  inFlightRun(key: SessionKey, invocationId: string): ActiveRun | undefined {
    return this.#active.get(runName(key, invocationId));
  }

  /**
   * Waits until a run that is being resumed in this process has its session, at most a second: another process may have the session, and
   * keep it until the run has ended.
   */
  async whenContinued(key: SessionKey, invocationId: string): Promise<void> {
    const run = this.inFlightRun(key, invocationId);
    if (run?.waitsToContinue) await within(this.platform, run.whenBegun(), CONTINUE_MS);
  }

  /** Returns the run of this process that a request began or continues. A run that has its session comes before runs that wait. */
  inFlightRequest(key: SessionKey, requestId: string): ActiveRun | undefined {
    const runs = this.#inSession(key).filter(({ log }) => log.requestId === requestId);
    return runs.find(({ hasBegun }) => hasBegun) ?? runs[0];
  }

  /** Returns the runs that wait for the session to resume this run, including answers to its calls. */
  waitingToContinue(key: SessionKey, invocationId: string): ActiveRun[] {
    return this.#inSession(key).filter(
      ({ waitsToContinue, stream }) => waitsToContinue && stream.invocationId === invocationId,
    );
  }

  /** Returns the id of the run that holds this session in this process. */
  holderOf(key: SessionKey): string | undefined {
    return this.#inSession(key).find(({ hasBegun }) => hasBegun)?.log.invocationId;
  }

  /** Returns the runs of a session that are active in this process, or wait for the session. */
  #inSession(key: SessionKey): ActiveRun[] {
    return Array.from(this.#active.values()).filter((run) => isSameSession(run.key, key));
  }

  /** Returns a run of this session in this process: active, or ended within `limits.keepRunsMs`. */
  find(key: SessionKey, invocationId: string): RunLog | undefined {
    const name = runName(key, invocationId);
    const active = this.#active.get(name);
    // The log of a resumed run that still waits for its session has nothing to read.
    if (active && !active.waitsToContinue) return active.log;
    const kept = this.#memory.find(name);
    return kept?.end?.kind === 'refused' ? undefined : kept;
  }

  /**
   * Returns a request of this session that ended in this process before its run began, by the id of its run. Another process may have begun
   * the run since, if the client sent the request again.
   */
  findRefused(key: SessionKey, id: string): RunLog | undefined {
    const kept = this.#memory.find(runName(key, id));
    return kept?.end?.kind === 'refused' ? kept : undefined;
  }

  /**
   * Returns the run of a request that waits for its session in another process.
   *
   * @throws RunRelayError
   */
  async findWaiting(key: SessionKey, id: string): Promise<RemoteRun | undefined> {
    const remote = await this.#relay?.find(key, id);
    // The relay may have a request for a moment longer that was refused here.
    const isOwn = remote?.invocationId === this.findRefused(key, id)?.invocationId;
    return remote?.end || isOwn ? undefined : remote;
  }

  /** Cancels or forgets a run because another process asks for it. */
  #stop(key: SessionKey, invocationId: string, stop: RunStop): void {
    for (const run of this.#inSession(key)) {
      if (run.publishedId !== invocationId) continue;
      if (stop === 'cancel') run.cancel();
      else this.platform.background(this.#endAndForget(run));
    }
    if (stop === 'forget') this.#memory.forget(key, invocationId);
  }

  /**
   * Refuses runs of a session in this process while it is deleted: copies of a request begin when the one that they
   * waited for has ended.
   */
  async whileDeleting(key: SessionKey, remove: () => Promise<void>): Promise<void> {
    this.#deleting.add(key);
    try {
      await remove();
    } finally {
      this.#deleting.delete(key);
    }
  }

  /**
   * Ends and forgets the runs of a session in all processes, including finished ones. Settles when they have ended, or other processes have
   * had time for that.
   * @throws RunRelayError
   */
  async forgetSession(key: SessionKey): Promise<void> {
    this.#memory.forget(key);
    const elsewhere = this.#relay && within(this.platform, this.#relay.forgetSession(key), FORGET_MS);
    await Promise.all([...this.#inSession(key).map((run) => this.#endAndForget(run)), elsewhere]);
  }

  async #endAndForget(run: ActiveRun): Promise<void> {
    const { log } = run;
    if (!log.end) {
      run.abort(new RunAbortedError(SESSION_DELETED));
      await log.ended;
    }
    log.publication?.forget();
    if (this.#memory.find(run.name) === log) this.#memory.drop(run.name);
  }

  /**
   * Refuses new runs and ends the active ones. For half of the time they may finish; then each stops after its next
   * stored event; at the end of the time all are aborted. Readers are asked to reconnect. Resolves at the latest one
   * second after the time. Readers of a run that has not ended by then, because its storage does not answer, get RUN_GOES_ON.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    this.readers.askToReconnect();
    const runs = [...this.#active.values()];
    const reason = shuttingDown();
    const callsOff = [
      this.platform.schedule(timeoutMs / 2, () => {
        for (const run of runs) if (!run.log.end) run.stopAtCommit(reason);
      }),
      this.platform.schedule(timeoutMs, () => {
        for (const run of runs) if (!run.log.end) run.abort(reason);
      }),
    ];
    const ends = [...runs.map(({ log }) => log.ended), this.unfinished.stop()];
    await within(this.platform, Promise.all(ends), timeoutMs + GRACE_MS);
    for (const callOff of callsOff) callOff();
    // These runs wait for a storage that does not answer.
    for (const run of this.#active.values()) {
      const end = endOfUnconfirmedRun(run);
      run.log.endWith(end);
      reportFailure(this, run.log, end);
    }
    this.#active.clear();
    this.follower.stop();
    this.readers.stop();
  }
}

/**
 * Returns an empty log for a request that waits to continue a run, with an id of its own, so that other processes can
 * cancel the request and not the run. It ends when the run begins, which is then published under its id.
 */
function waitingRequest(run: ActiveRun, invocationId: string): RelayedLog {
  const { key, log } = run;
  const none = { attempt: 0, gonePosition: 0, lastPosition: 0, chars: 0, framesAfter: () => [] };
  return {
    ...none,
    key,
    requestId: log.requestId,
    invocationId,
    earlyEnd: openError(),
    get isEnded() {
      return run.hasBegun || log.isEnded;
    },
  };
}

function shuttingDown(): EventloomError {
  return new ShuttingDownError(
    'the server is shutting down; try again, with the same requestId if the request has one',
  );
}
