import {
  type EventloomError,
  type Platform,
  RunAbortedError,
  type RunBounds,
  type RunConfig,
  SessionBusyError,
  type SessionKey,
  ShuttingDownError,
  type UnfinishedRunError,
} from '@eventloom/core';
import type { RunAsyncParams, Runner } from '@eventloom/runner';
import { RunRelayError, ServerBusyError } from '../errors.ts';
import type { RequestQuota } from '../http/user-quotas.ts';
import { boundsOf, type ServerLimits } from '../server-limits.ts';
import { type RecordedRun, RunLog, runName } from './run-log.ts';
import { RunMemory } from './run-memory.ts';
import { runNotFound, RunReaders } from './run-readers.ts';
import type { RemoteRun, RunRelay, RunStop } from './run-relay.ts';
import { type RunState, readRunState } from './run-state.ts';
import { type OnUnfinishedRuns, UnfinishedRuns } from './unfinished-runs.ts';

/** The parts of a Runner that a hub needs. */
export interface HostedRunner extends Pick<Runner, 'appName' | 'sessionService'>, Partial<Pick<Runner, 'runConfig'>> {
  runAsync(params: RunAsyncParams): RecordedRun;
}

/** Options of `RunHub.start`. */
export interface StartOptions {
  /** The run that is expected to be resumed. The log takes the id of the stream once the run has its session. */
  readonly resumes?: string | undefined;
  /** True for a run that no client asked for: it cannot be found before it has its session. */
  readonly isUnasked?: boolean | undefined;
  /** Counts the run for its user. */
  readonly quota?: Pick<RequestQuota, 'giveBack' | 'runEnded'> | undefined;
}

/** Options of a `RunHub`. */
export interface RunHubOptions {
  readonly platform: Platform;
  readonly limits: ServerLimits;
  /** Called with each failure of a run and of a reader. */
  readonly report: (error: unknown) => void;
  /** Connects the processes of the server, if there are several. */
  readonly relay?: RunRelay | undefined;
  /** The runners whose unfinished runs are resumed or closed. */
  readonly runners?: readonly Runner[] | undefined;
  readonly onUnfinishedRuns?: OnUnfinishedRuns | undefined;
}

/** Milliseconds that an aborted run gets to clean up. */
export const GRACE_MS = 1000;

/** The runs that a process hosts: starts, finds, cancels and drains them. A run outlives its client. */
export class RunHub {
  readonly platform: Platform;
  readonly limits: ServerLimits;
  /** Resumes or closes the runs that other processes left. */
  readonly unfinished: UnfinishedRuns;
  /** The connections that read runs. */
  readonly readers: RunReaders;
  /** The bounds of every run's config. */
  readonly #bounds: RunBounds | undefined;
  readonly #report: (error: unknown) => void;
  readonly #relay: RunRelay | undefined;
  /** The logs of all runs, and the finished runs that can still be read. */
  readonly #memory: RunMemory;
  /** Runs in flight, by `runName`. */
  readonly #active = new Map<string, RunLog>();
  #isDraining = false;

  constructor(options: RunHubOptions) {
    const { platform, limits, report, relay, runners = [], onUnfinishedRuns = 'resume' } = options;
    this.platform = platform;
    this.limits = limits;
    this.#bounds = boundsOf(limits);
    this.#report = report;
    this.#relay = relay;
    this.#memory = new RunMemory(platform, limits);
    this.readers = new RunReaders(this, this.#memory, options);
    this.unfinished = new UnfinishedRuns({ hub: this, runners, action: onUnfinishedRuns, limits, platform, report });
    const stop = (invocationId: string, how: RunStop): void => this.#stop(invocationId, how);
    relay?.attach({ platform, keepRunsMs: limits.keepRunsMs, report, stop });
  }

  /** The number of runs in flight. */
  get inFlight(): number {
    return this.#active.size;
  }

  /** Resolves when no run is in flight; undefined when none is now. Never rejects. */
  whenIdle(): Promise<void> | undefined {
    const logs = [...this.#active.values()];
    if (logs.length === 0) return undefined;
    return Promise.all(logs.map(({ ended }) => ended)).then(() => this.whenIdle());
  }

  /** True once `drain` was called: no run is started any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Starts a run and records it to its end, with or without readers. The first step of the run is taken in this call. A
   * resumed run replaces its kept log once it has its session. If the session has an unfinished run, that run is
   * finished first, and can be followed and cancelled here; `runConfig.onOpenRun` can change this.
   * @throws ServerBusyError @throws ShuttingDownError @throws SessionBusyError if the run to resume is in flight here
   */
  start(
    runner: HostedRunner,
    params: RunAsyncParams,
    { resumes, isUnasked = false, quota }: StartOptions = {},
  ): RunLog {
    const key = { appName: runner.appName, userId: params.userId, sessionId: params.sessionId };
    if (this.#isDraining)
      throw new ShuttingDownError('the server is shutting down and starts no run: send the request again elsewhere');
    if (resumes !== undefined && this.inFlightRun(key, resumes))
      throw new SessionBusyError(`the run ${resumes} is in flight: it can be followed, and not be resumed`);
    if (this.#active.size >= this.limits.maxRuns)
      throw new ServerBusyError(`the server has ${this.#active.size} runs in flight, as many as it takes; try again`);
    if (this.#memory.isFull)
      throw new ServerBusyError('the runs in flight fill all of the memory that is kept for events; try again');
    const log = new RunLog(this.#memory, key, '');
    const onOpenRun = params.runConfig?.onOpenRun ?? runner.runConfig?.onOpenRun ?? 'finish';
    const onBusy = params.runConfig?.onBusy ?? runner.runConfig?.onBusy;
    const finishes = onOpenRun === 'finish' && onBusy !== 'interrupt';
    const runConfig: RunConfig | undefined = finishes ? { ...params.runConfig, onOpenRun: 'reject' } : params.runConfig;
    const { abortSignal } = log;
    const stream = runner.runAsync({ ...params, runConfig, ifKnown: 'reject', bounds: this.#bounds, abortSignal });
    log.invocationId = resumes ?? stream.invocationId;
    log.isResumed = resumes !== undefined;
    log.isHidden = isUnasked;
    this.#active.set(runName(key, log.invocationId), log);
    if (resumes === undefined) log.publication = this.#relay?.publish(log);
    log.recording = this.#record(log, stream, finishes && !isUnasked);
    log.started = this.#whenStarted(log, stream, { resumes, quota });
    if (quota) quota.runEnded = log.ended;
    return log;
  }

  async #whenStarted(log: RunLog, stream: RecordedRun, { resumes, quota }: StartOptions): Promise<boolean> {
    const isStarted = await stream.whenStarted();
    quota?.giveBack('queued');
    if (isStarted) log.markStored();
    // Answers may turn out to belong to another run than the lookup before the start had found.
    if (isStarted && (resumes !== undefined || stream.invocationId !== log.invocationId))
      this.#resumed(runName(log.key, log.invocationId), log, stream);
    return isStarted;
  }

  /** Lists a resumed run that has its session under its id, which may be another one than was expected. */
  #resumed(expected: string, log: RunLog, stream: RecordedRun): void {
    log.begin(stream);
    log.isHidden = false;
    const name = runName(log.key, log.invocationId);
    if (this.#active.delete(expected)) this.#active.set(name, log);
    this.#memory.drop(name);
    if (name !== expected) {
      log.publication?.forget();
      log.publication = undefined;
    }
    log.publication ??= this.#relay?.publish(log);
  }

  /** Records a run until it is over, then keeps its log for readers that come later. Never rejects. */
  async #record(log: RunLog, stream: RecordedRun, finishesOthers: boolean): Promise<void> {
    await log.record(
      stream,
      this.platform,
      finishesOthers ? (other, refused) => this.#finish(other, refused, log) : undefined,
    );
    const name = runName(log.key, log.invocationId);
    const wasFound = this.#active.get(name) === log && this.#active.delete(name) && !log.isHidden;
    log.end();
    // The answer to its request tells of a run that failed before it had an event or a reader.
    if (wasFound && !log.goesOn && (log.hasEvents || log.wasRead)) {
      this.#memory.keep(name, log);
    } else {
      if (!log.goesOn) log.publication?.forget();
      this.#memory.release(log);
    }
    if (log.failure !== undefined) this.#report(log.failure);
  }

  /**
   * Finishes the unfinished run that holds the session of a refused run, and returns the stream of the refused run,
   * started again. Also returns when the refused run is aborted. @throws the error that keeps the unfinished run from
   * its end
   */
  async #finish({ run }: UnfinishedRunError, refused: RecordedRun, log: RunLog): Promise<RecordedRun> {
    const left = Promise.withResolvers<void>();
    log.abortSignal.addEventListener('abort', () => left.resolve(), { once: true });
    const ended = this.inFlightRun(run, run.invocationId)?.ended ?? this.unfinished.finish(run);
    await Promise.race([ended, left.promise]);
    // A server that shuts down finishes no run of others: the message is not stored, and can be sent again.
    if (this.#isDraining) throw shuttingDown();
    const again = refused.retry();
    log.started = this.#whenStarted(log, again, { resumes: log.isResumed ? log.invocationId : undefined });
    return again;
  }

  /** Returns a run of this session that is in flight in this process, or waits for its session. */
  inFlightRun(key: SessionKey, invocationId: string): RunLog | undefined {
    return this.#active.get(runName(key, invocationId));
  }

  /** Returns a run of this session in this process: in flight, or ended within `limits.keepRunsMs`. */
  find(key: SessionKey, invocationId: string): RunLog | undefined {
    const name = runName(key, invocationId);
    const log = this.#active.get(name);
    return log && !log.isHidden ? log : this.#memory.find(name);
  }

  /**
   * Settles when the answer to the start of a run can begin: at its first frame or its end, with a relay not before every process can find
   * the run, and at the latest after `limits.answerAfterMs`. Never rejects.
   */
  async opened({ recording, opened, publication }: RunLog): Promise<void> {
    const late = Promise.withResolvers<void>();
    const callOff = this.platform.schedule(this.limits.answerAfterMs, late.resolve);
    await Promise.race([recording, opened, late.promise]);
    if (publication) await Promise.race([publication.announced, late.promise]);
    callOff();
  }

  /** Resumes a run of this session that its process left, if it can be resumed. Settles when it has its session. */
  async takeUp({ sessionService }: HostedRunner, key: SessionKey, id: string): Promise<void> {
    const stored = await sessionService.findRun({ ...key, id });
    if (!stored?.open || stored.open.heldUntilMs > this.platform.now()) return;
    const { invocationId, open } = stored;
    if (!this.inFlightRun(key, invocationId)) await this.unfinished.resume({ ...key, invocationId, ...open });
  }

  /**
   * Says what became of a run of this session, of whichever process.
   * @param id the run's invocation id, or a request id that it was begun with
   * @throws RunNotFoundError @throws RunRelayError
   */
  async state({ sessionService }: HostedRunner, key: SessionKey, id: string): Promise<RunState> {
    if (this.inFlightRun(key, id)) return { invocationId: id, state: 'running' };
    const stored = await sessionService.findRun({ ...key, id });
    if (stored) return readRunState(sessionService, key, stored);
    // Another process may be about to store the message.
    const remote = await this.#relay?.find(key, id);
    if (!remote || remote.end) throw runNotFound(key, id);
    return { invocationId: id, state: 'running' };
  }

  /**
   * Ends a run of this session, of whichever process, and waits a short while for its end. One that has ended is left as it is, and one
   * that a process left is closed.
   * @throws RunNotFoundError @throws RunRelayError for a run of a process that cannot be asked
   */
  async cancel(
    runner: Pick<Runner, 'closeRun' | 'sessionService'>,
    key: SessionKey,
    invocationId: string,
  ): Promise<void> {
    const log = this.find(key, invocationId);
    if (log && !log.isEnded) {
      log.cancel();
      await within(this.platform, log.ended, this.limits.answerAfterMs);
      return;
    }
    const remote = await this.#relay?.find(key, invocationId);
    if (this.#relay && remote && !remote.end) await this.#cancelElsewhere(this.#relay, remote, key, invocationId);
    else if (remote?.end?.kind !== 'ended' && !log) await this.#cancelStored(runner, key, invocationId);
  }

  async #cancelStored(
    runner: Pick<Runner, 'closeRun' | 'sessionService'>,
    key: SessionKey,
    invocationId: string,
  ): Promise<void> {
    const stored = await runner.sessionService.findRun({ ...key, id: invocationId });
    if (!stored) throw runNotFound(key, invocationId);
    if (stored.invocationId !== invocationId) return this.cancel(runner, key, stored.invocationId);
    if (!stored.open) return;
    if (stored.open.heldUntilMs > this.platform.now()) {
      throw new RunRelayError(
        `the run ${invocationId} is under way in a process that this one cannot ask to end it; try again`,
      );
    }
    const { userId, sessionId } = key;
    await runner.closeRun({ userId, sessionId, invocationId: stored.invocationId, reason: 'the run was cancelled' });
  }

  async #cancelElsewhere(relay: RunRelay, remote: RemoteRun, key: SessionKey, invocationId: string): Promise<void> {
    await relay.cancel(key, invocationId);
    const over = Promise.withResolvers<void>();
    const mirror = { mirror: () => undefined, mirrorEnded: () => over.resolve() };
    const leave = relay.follow(key, invocationId, remote.lastPosition, mirror);
    await within(this.platform, over.promise, this.limits.answerAfterMs);
    leave();
  }

  /** Cancels or forgets a run because another process asks for it. */
  #stop(invocationId: string, stop: RunStop): void {
    for (const log of [...this.#active.values(), ...this.#memory.finished]) {
      if (log.invocationId !== invocationId) continue;
      if (stop === 'cancel') log.cancel();
      else this.platform.background(this.#endAndForget(log));
    }
  }

  /** Ends the runs of a session and forgets them, its finished ones too, in all processes. Settles when they have ended. @throws RunRelayError */
  async forgetSession(key: SessionKey): Promise<void> {
    const logs = [...this.#active.values(), ...this.#memory.finished];
    const own = logs.filter(
      ({ key: { appName, userId, sessionId } }) =>
        sessionId === key.sessionId && userId === key.userId && appName === key.appName,
    );
    await Promise.all([...own.map((log) => this.#endAndForget(log)), this.#relay?.forgetSession(key)]);
  }

  async #endAndForget(log: RunLog): Promise<void> {
    if (!log.isEnded) {
      log.abort(new RunAbortedError('the session was deleted'));
      await log.ended;
    }
    log.publication?.forget();
    const name = runName(log.key, log.invocationId);
    if (this.#memory.find(name) === log) this.#memory.drop(name);
  }

  /**
   * Starts no run any more and brings those in flight to an end: half of the time they may finish, then each stops when its next event is
   * stored, and at the end of the time at once. Readers are asked to connect again. Settles at the latest one second after the time; what
   * has not ended by then is left to itself.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    this.readers.askToReconnect();
    const logs = [...this.#active.values()];
    const reason = shuttingDown();
    const callsOff = [
      this.platform.schedule(timeoutMs / 2, () => {
        for (const log of logs) if (!log.isEnded) log.stopAtCommit(reason);
      }),
      this.platform.schedule(timeoutMs, () => {
        for (const log of logs) if (!log.isEnded) log.abort(reason);
      }),
    ];
    const over = [...logs.map(({ ended }) => ended), this.unfinished.stop()];
    await within(this.platform, Promise.all(over), timeoutMs + GRACE_MS);
    for (const callOff of callsOff) callOff();
    this.readers.stop();
  }
}

/** Settles with the work, or when the time is over. Rejects as the work does. */
export async function within(
  timers: Pick<Platform, 'schedule'>,
  work: Promise<unknown>,
  timeoutMs: number,
): Promise<void> {
  const late = Promise.withResolvers<void>();
  const callOff = timers.schedule(timeoutMs, late.resolve);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    callOff();
  }
}

function shuttingDown(): EventloomError {
  return new ShuttingDownError('the server is shutting down; what a run committed is in the session, try again');
}
