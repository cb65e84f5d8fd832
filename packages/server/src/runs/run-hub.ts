import {
  type EventloomError,
  InvalidRequestError,
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
import {
  RunEventsGoneError,
  RunGoesOnError,
  RunNotFoundError,
  RunRelayError,
  ServerBusyError,
  TooManyReadersError,
} from '../errors.ts';
import { readWithoutState } from '../http/session-response.ts';
import type { RequestQuota } from '../http/user-quotas.ts';
import { boundsOf, type ServerLimits } from '../server-limits.ts';
import { eventPosition, formatPosition, seqOf } from './frame-position.ts';
import {
  encodeFrames,
  type FrameEncoder,
  type LogHost,
  NUMBERED_SSE_FRAMES,
  type RecordedRun,
  RunLog,
} from './run-log.ts';
import { type EarlierFrames, MAX_WRITE_CHARS, RunReader, SSE_RETRY } from './run-reader.ts';
import type { RemoteRun, RunRelay, RunStop } from './run-relay.ts';
import { type RunState, readRunState } from './run-state.ts';
import { type OnUnfinishedRuns, UnfinishedRuns } from './unfinished-runs.ts';
import { storedFrames } from './stored-frames.ts';

/** The parts of a Runner that runs are hosted with. */
export interface HostedRunner extends Pick<Runner, 'appName' | 'sessionService'>, Partial<Pick<Runner, 'runConfig'>> {
  runAsync(params: RunAsyncParams): RecordedRun;
}

/** How a run is started. */
export interface StartOptions {
  /** For a run that is resumed: the one that is expected. The run has the id of its stream once it has its session. */
  readonly resumes?: string | undefined;
  /** True for a run that no client asked for: it cannot be found before it has its session. */
  readonly isUnasked?: boolean | undefined;
  /** Counts the run for its user. */
  readonly quota?: Pick<RequestQuota, 'giveBack' | 'runEnded'> | undefined;
}

/** What the runs of a process are hosted with. */
export interface RunHubOptions {
  readonly platform: Platform;
  readonly limits: ServerLimits;
  readonly report: (error: unknown) => void;
  /** The way to the other processes, where there are any. */
  readonly relay?: RunRelay | undefined;
  /** The apps whose unfinished runs are looked after. */
  readonly runners?: readonly Runner[] | undefined;
  readonly onUnfinishedRuns?: OnUnfinishedRuns | undefined;
}

/** Milliseconds that an aborted run gets to clean up. */
export const GRACE_MS = 1000;

/**
 * The runs of a process: those in flight, those that ended a short while ago, and copies of those of other processes that are read here.
 *
 * A run outlives its client. What is kept of runs is bounded: of finished runs the oldest goes first, and then the run that appends
 * loses its own oldest frames.
 */
export class RunHub implements LogHost {
  readonly platform: Platform;
  readonly limits: ServerLimits;
  /** Takes up the runs that other processes left. */
  readonly unfinished: UnfinishedRuns;
  /** The bounds of every run's config. */
  readonly #bounds: RunBounds | undefined;
  readonly #report: (error: unknown) => void;
  readonly #relay: RunRelay | undefined;
  /** Runs in flight, by `nameOfRun`. */
  readonly #active = new Map<string, RunLog>();
  /** Runs in flight that no client asked for, and that do not have their session yet. */
  readonly #unseen = new Map<string, RunLog>();
  /** Finished runs in the order they ended, and when they did. */
  readonly #kept = new Map<string, { readonly log: RunLog; readonly endedMs: number }>();
  /** Runs of other processes that are under way and read here. */
  readonly #mirrors = new Map<string, RunLog>();
  readonly #readers = new Set<RunReader>();
  /** Readers that wrote in this tick. */
  readonly #gathering = new Set<RunReader>();
  /** Characters of all logs, and of those that are finished. */
  #chars = 0;
  #keptChars = 0;
  #callOffBeat: (() => void) | undefined;
  #isSweepSet = false;
  #isDraining = false;

  /** @param options.report told of each failure of a run, and of a reader */
  constructor(options: RunHubOptions) {
    const { platform, limits, report, relay, runners = [], onUnfinishedRuns = 'resume' } = options;
    this.platform = platform;
    this.limits = limits;
    this.#bounds = boundsOf(limits);
    this.#report = report;
    this.#relay = relay;
    this.unfinished = new UnfinishedRuns({ hub: this, runners, action: onUnfinishedRuns, limits, platform, report });
    const stop = (invocationId: string, how: RunStop): void => this.#stop(invocationId, how);
    relay?.attach({ platform, keepRunsMs: limits.keepRunsMs, report, stop });
  }

  /** The number of runs in flight that can be found. */
  get inFlight(): number {
    return this.#active.size;
  }

  /** Resolves when no run is in flight; undefined when none is now. Never rejects. */
  whenIdle(): Promise<void> | undefined {
    const logs = [...this.#active.values(), ...this.#unseen.values()];
    if (logs.length === 0) return undefined;
    return Promise.all(logs.map(({ ended }) => ended)).then(() => this.whenIdle());
  }

  /** True once `drain` was called: no run is started any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Starts a run and records it to its end, whoever reads it. The first step of the run is taken in this call. A run that is resumed takes
   * the place of what is kept of it once it has its session. A session that has an unfinished run is given to that one first, which
   * others can follow and cancel here; `runConfig.onOpenRun` says otherwise.
   * @throws ServerBusyError @throws ShuttingDownError @throws SessionBusyError when the run that is to be resumed is in flight here
   */
  start(
    runner: HostedRunner,
    params: RunAsyncParams,
    { resumes, isUnasked = false, quota }: StartOptions = {},
  ): RunLog {
    const key = { appName: runner.appName, userId: params.userId, sessionId: params.sessionId };
    this.#checkRoom(key, resumes);
    const log = new RunLog(this, key, '');
    const onOpenRun = params.runConfig?.onOpenRun ?? runner.runConfig?.onOpenRun ?? 'finish';
    const onBusy = params.runConfig?.onBusy ?? runner.runConfig?.onBusy;
    const finishes = onOpenRun === 'finish' && onBusy !== 'interrupt';
    const runConfig: RunConfig | undefined = finishes ? { ...params.runConfig, onOpenRun: 'reject' } : params.runConfig;
    const { abortSignal } = log;
    const stream = runner.runAsync({ ...params, runConfig, ifKnown: 'reject', bounds: this.#bounds, abortSignal });
    log.invocationId = resumes ?? stream.invocationId;
    log.isResumed = resumes !== undefined;
    (isUnasked ? this.#unseen : this.#active).set(nameOfRun(key, log.invocationId), log);
    if (resumes === undefined) log.publication = this.#relay?.publish(log);
    log.recording = log.record(stream, finishes && !isUnasked);
    log.started = this.#whenStarted(log, stream, { resumes, quota });
    if (quota) quota.runEnded = log.ended;
    return log;
  }

  async #whenStarted(log: RunLog, stream: RecordedRun, { resumes, quota }: StartOptions): Promise<boolean> {
    const isStarted = await stream.whenStarted();
    quota?.giveBack('queued');
    if (isStarted && resumes !== undefined) this.#resumed(nameOfRun(log.key, resumes), log, stream);
    return isStarted;
  }

  #checkRoom(key: SessionKey, resumes: string | undefined): void {
    if (this.#isDraining) throw shuttingDown();
    if (resumes !== undefined && this.inFlightRun(key, resumes)) {
      throw new SessionBusyError(`the run ${resumes} is in flight: it can be followed, and not be resumed`);
    }
    const count = this.#active.size + this.#unseen.size;
    if (count >= this.limits.maxRuns) {
      throw new ServerBusyError(`the server has ${count} runs in flight, as many as it takes; try again`);
    }
    if (this.#chars - this.#keptChars >= this.limits.maxKeptChars) {
      throw new ServerBusyError('the runs in flight fill all of the memory that is kept for events; try again');
    }
  }

  /** A resumed run has its session: it may be another run than was expected. */
  #resumed(expected: string, log: RunLog, stream: RecordedRun): void {
    log.begin(stream);
    const name = nameOfRun(log.key, log.invocationId);
    if (this.#unseen.delete(expected) || this.#active.delete(expected)) this.#active.set(name, log);
    this.#forget(name);
    log.publication ??= this.#relay?.publish(log);
  }

  /** Returns a run of this session that is in flight in this process, or waits for its session. */
  inFlightRun(key: SessionKey, invocationId: string): RunLog | undefined {
    const name = nameOfRun(key, invocationId);
    return this.#active.get(name) ?? this.#unseen.get(name);
  }

  /** Returns a run of this session in this process: in flight, or ended within `limits.keepRunsMs`. */
  find(key: SessionKey, invocationId: string): RunLog | undefined {
    const name = nameOfRun(key, invocationId);
    return this.#active.get(name) ?? this.#kept.get(name)?.log;
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

  /**
   * Opens a connection that reads a log as server-sent events.
   * @param position behind which frames are sent; default: the beginning of the log
   * @param frames writes the frames in the reader's own format
   * @param earlier stored events to be sent before
   * @throws TooManyReadersError
   */
  read(
    log: RunLog,
    position?: number,
    frames: FrameEncoder = NUMBERED_SSE_FRAMES,
    earlier?: EarlierFrames,
  ): ReadableStream<Uint8Array<ArrayBuffer>> | string {
    if (log.readers.size >= this.limits.maxReadersPerRun) {
      // A client that left a silent run is still counted until something is sent to it.
      for (const reader of log.readers) reader.probe();
      throw new TooManyReadersError(
        `the run ${log.invocationId} has ${log.readers.size} readers, as many as are served`,
      );
    }
    log.wasRead = true;
    const isWhole = log.isEnded && !log.goesOn && !earlier && log.chars < MAX_WRITE_CHARS && !this.#isDraining;
    const from = position ?? log.beginPosition;
    if (isWhole && from >= log.gonePosition) {
      return encodeFrames(log.framesAfter(from, Infinity), frames) + (frames.end ?? '');
    }
    const reader = new RunReader(this, log, position, frames, earlier);
    this.#readers.add(reader);
    this.#callOffBeat ??= this.platform.schedule(this.limits.heartbeatMs, this.#beat);
    if (this.#isDraining) reader.say(SSE_RETRY);
    return reader.stream;
  }

  readonly #beat = (): void => {
    this.#callOffBeat = undefined;
    for (const reader of this.#readers) reader.beat();
    if (this.#readers.size > 0) this.#callOffBeat = this.platform.schedule(this.limits.heartbeatMs, this.#beat);
  };

  /** Has a reader that wrote in this tick write what comes until its end in one piece. */
  gather(reader: RunReader): void {
    reader.isGathering = true;
    if (this.#gathering.size === 0) this.platform.schedule(0, this.#flush);
    this.#gathering.add(reader);
  }

  readonly #flush = (): void => {
    const readers = Array.from(this.#gathering);
    this.#gathering.clear();
    for (const reader of readers) {
      reader.isGathering = false;
      reader.notify();
    }
  };

  /**
   * Opens a connection that reads a run of this session, of whichever process, behind a position.
   * @returns the log that is read; no body when the run has ended and there is nothing behind the position
   * @throws RunNotFoundError @throws RunEventsGoneError @throws TooManyReadersError @throws RunRelayError
   * @throws InvalidRequestError for a position that the run does not have
   */
  async follow(
    runner: HostedRunner,
    key: SessionKey,
    invocationId: string,
    position: number,
    frames?: FrameEncoder,
  ): Promise<FollowedRun> {
    let log = await this.#findStarted(key, invocationId);
    if (!log || log.isEnded) log = (await this.#findElsewhere(runner, key, invocationId, position, log)) ?? log;
    return log
      ? this.#read(runner, log, position, frames)
      : this.#followStored(runner, key, invocationId, position, frames);
  }

  /** Resumes a run of this session that its process left, if it can be resumed. Settles when it has its session. */
  async takeUp({ sessionService }: HostedRunner, key: SessionKey, id: string): Promise<void> {
    const stored = await sessionService.findRun({ ...key, id });
    if (!stored?.open || stored.open.heldUntilMs > this.platform.now()) return;
    const { invocationId, open } = stored;
    if (!this.inFlightRun(key, invocationId)) await this.unfinished.resume({ ...key, invocationId, ...open });
  }

  /** A run of this process. Which of the frames of a resumed run are in its session is known when the run has it. */
  async #findStarted(key: SessionKey, invocationId: string): Promise<RunLog | undefined> {
    const log = this.inFlightRun(key, invocationId);
    if (log?.isResumed && log.firstSeq === undefined) await log.started;
    return this.find(key, invocationId);
  }

  async #read(runner: HostedRunner, log: RunLog, position: number, frames?: FrameEncoder): Promise<FollowedRun> {
    log.pending++;
    try {
      return await this.#open(runner, log, position, frames);
    } finally {
      log.pending--;
      if (log.isMirror) this.#leaveUnread(log);
    }
  }

  async #open(
    { sessionService }: HostedRunner,
    log: RunLog,
    position: number,
    frames: FrameEncoder | undefined,
  ): Promise<FollowedRun> {
    const { key, invocationId, isEnded, goesOn, lastPosition, gonePosition } = log;
    const isBeyond = isEnded && !goesOn ? position > lastPosition : seqOf(position) > seqOf(lastPosition);
    if (isBeyond && (isEnded || !log.isMirror)) {
      throw beyondEnd(position, lastPosition);
    }
    if (isEnded && !goesOn && position >= lastPosition) return { invocationId, body: undefined };
    if (position >= gonePosition) return { invocationId, body: this.read(log, position, frames) };
    const untilSeq = seqOf(lastPosition);
    const untilPosition = eventPosition(untilSeq);
    const stored =
      untilPosition < gonePosition ? undefined : await sessionService.findRun({ ...key, id: invocationId });
    if (!stored) throw goneError(log);
    const pages = storedFrames(sessionService, key, stored, position, untilSeq);
    return { invocationId, body: this.read(log, position, frames, { pages, untilPosition }) };
  }

  /**
   * Reads a run from its session, when no process has its log. A run that a process left is resumed first. The reader of a run that is still
   * open gets the events that are stored so far and then `RUN_GOES_ON`.
   */
  async #followStored(
    runner: HostedRunner,
    key: SessionKey,
    id: string,
    position: number,
    frames: FrameEncoder | undefined,
  ): Promise<FollowedRun> {
    const { sessionService } = runner;
    let stored = await sessionService.findRun({ ...key, id });
    if (stored && stored.invocationId !== id) return this.follow(runner, key, stored.invocationId, position, frames);
    if (stored?.open) {
      if (stored.open.heldUntilMs <= this.platform.now()) await this.unfinished.look();
      const log = await this.#findStarted(key, id);
      if (log) return this.#read(runner, log, position, frames);
      stored = await sessionService.findRun({ ...key, id });
    }
    const session = stored && (await readWithoutState(sessionService, { ...key, config: { numRecentEvents: 0 } }));
    if (!stored || !session) throw this.#notFound(key, id);
    const { invocationId, firstSeq, open } = stored;
    const lastSeq = Math.max(session.lastSeq, firstSeq);
    // On record, and killed before its message was stored.
    if (session.lastSeq < firstSeq && !open) throw this.#notFound(key, id);
    const lastPosition = eventPosition(lastSeq - firstSeq);
    if (seqOf(position) > seqOf(lastPosition)) throw beyondEnd(position, lastPosition);
    const log = new RunLog(this, key, invocationId);
    log.beginAt(lastPosition);
    log.end(
      open && new RunGoesOnError('the run goes on in another process, or when it is taken up again: follow it again'),
    );
    const pages = storedFrames(sessionService, key, stored, position, lastSeq - firstSeq, !open);
    const first = await pages.next();
    if (first.done === true && !open) return { invocationId, body: undefined };
    const earlier: EarlierFrames = { first: first.value, pages, untilPosition: lastPosition };
    return { invocationId, body: this.read(log, position, frames, earlier) };
  }

  /** A copy of a run that another process has, or has a later attempt of. @throws RunRelayError */
  async #findElsewhere(
    runner: HostedRunner,
    key: SessionKey,
    invocationId: string,
    position: number,
    own?: RunLog,
  ): Promise<RunLog | undefined> {
    const name = nameOfRun(key, invocationId);
    const isLater = ({ attempt }: { readonly attempt: number }): boolean => !own || own.attempt < attempt;
    let remote: RemoteRun | undefined;
    if (this.#mirrors.get(name)?.isEnded !== false) {
      remote = await this.#relay?.find(key, invocationId).catch((error: unknown) => {
        if (!own || !RunRelayError.isInstance(error)) throw error;
        return undefined;
      });
    }
    const open = this.#mirrors.get(name);
    if (open && !open.isEnded) return isLater(open) ? open : undefined;
    // Events of a lost process are in the session, unless they were never stored.
    if (!remote || remote.end?.kind === 'lost' || !isLater(remote)) return undefined;
    const log = new RunLog(this, key, invocationId);
    log.isMirror = true;
    log.attempt = remote.attempt;
    const isRead = remote.end !== undefined && position >= remote.lastPosition;
    log.beginAt(isRead ? remote.lastPosition : remote.gonePosition);
    if (isRead) {
      log.mirrorEnded(remote.end);
    } else {
      this.#mirrors.set(name, log);
      log.leave = this.#relay?.follow(key, invocationId, log.gonePosition, {
        mirror: (copied, gonePosition) => log.mirror(copied, gonePosition),
        mirrorEnded: (end) => {
          if (end.kind === 'ended') log.mirrorEnded(end);
          else this.platform.background(this.#endLost(runner, log, end.error));
        },
      });
    }
    return log;
  }

  /** Ends a copy whose process was lost: with the stored events if the run has ended, otherwise with `RUN_GOES_ON`. */
  async #endLost({ sessionService }: HostedRunner, log: RunLog, error: EventloomError): Promise<void> {
    try {
      const stored = await sessionService.findRun({ ...log.key, id: log.invocationId });
      if (!stored) {
        log.end(this.#notFound(log.key, log.invocationId));
      } else if (!stored.open) {
        for await (const copied of storedFrames(sessionService, log.key, stored, log.lastPosition, Infinity, true)) {
          log.mirror(copied, log.lastPosition);
        }
        log.end();
      }
    } catch (failure) {
      this.#report(failure);
    }
    if (!log.isEnded) log.end(error);
  }

  /** Forgets a reader that was closed. A mirror without readers is not kept. */
  closed(reader: RunReader, log: RunLog, failure?: unknown): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) {
      this.#callOffBeat?.();
      this.#callOffBeat = undefined;
    }
    log.readers.delete(reader);
    if (log.isMirror) this.#leaveUnread(log);
    if (failure !== undefined) this.#report(failure);
  }

  /** Leaves a run of another process that nobody reads here any more. */
  #leaveUnread(log: RunLog): void {
    if (!log.leave || log.pending + log.readers.size > 0) return;
    const name = nameOfRun(log.key, log.invocationId);
    if (this.#mirrors.get(name) === log) this.#mirrors.delete(name);
    log.leave();
    log.leave = undefined;
    this.#chars -= log.chars;
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
    if (!remote || remote.end) throw this.#notFound(key, id);
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
    if (!stored) throw this.#notFound(key, invocationId);
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
    for (const log of [...this.#active.values(), ...Array.from(this.#kept.values(), (kept) => kept.log)]) {
      if (log.invocationId !== invocationId) continue;
      if (stop === 'cancel') log.cancel();
      else this.platform.background(this.#endAndForget(log));
    }
  }

  /** Ends the runs of a session and forgets them, its finished ones too, in all processes. Settles when they have ended. @throws RunRelayError */
  async forgetSession(key: SessionKey): Promise<void> {
    const logs = [
      ...this.#active.values(),
      ...this.#unseen.values(),
      ...Array.from(this.#kept.values(), (kept) => kept.log),
    ];
    const own = logs.filter((log) => nameOfRun(log.key, '') === nameOfRun(key, ''));
    await Promise.all([...own.map((log) => this.#endAndForget(log)), this.#relay?.forgetSession(key)]);
  }

  async #endAndForget(log: RunLog): Promise<void> {
    if (!log.isEnded) {
      log.abort(new RunAbortedError('the session was deleted'));
      await log.ended;
    }
    log.publication?.forget();
    const name = nameOfRun(log.key, log.invocationId);
    if (this.#kept.get(name)?.log === log) this.#forget(name);
  }

  /**
   * Starts no run any more and brings those in flight to an end: half of the time they may finish, then each stops when its next event is
   * stored, and at the end of the time at once. Readers are asked to connect again. Settles at the latest one second after the time; what
   * has not ended by then is left to itself.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    for (const reader of this.#readers) reader.say(SSE_RETRY);
    const logs = [...this.#active.values(), ...this.#unseen.values()];
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
    for (const log of this.#mirrors.values()) {
      log.end(new RunGoesOnError('the server is shutting down, and the run goes on: follow it elsewhere'));
    }
    this.#callOffBeat?.();
  }

  async finish(log: RunLog, { run }: UnfinishedRunError, stream: RecordedRun): Promise<RecordedRun> {
    const left = Promise.withResolvers<void>();
    log.abortSignal.addEventListener('abort', () => left.resolve(), { once: true });
    const ended = this.inFlightRun(run, run.invocationId)?.ended ?? this.unfinished.finish(run);
    await Promise.race([ended, left.promise]);
    // A server that shuts down finishes no run of others: the message is not stored, and can be sent again.
    if (this.#isDraining) throw shuttingDown();
    const again = stream.retry();
    if (log.isResumed) log.started = this.#whenStarted(log, again, { resumes: log.invocationId });
    return again;
  }

  keep(log: RunLog, chars: number): void {
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.limits;
    if (chars < 0 || (this.#chars <= maxKeptChars && log.chars <= maxRunChars)) return;
    while (this.#chars > maxKeptChars && this.#forgetOldest());
    // One frame may be larger than the bound: a reader that waits for it, or for what came before it, is not slow.
    const maxChars = maxRunChars + log.largestChars;
    while (log.count > 1 && (log.chars > maxChars || this.#chars > maxKeptChars)) log.dropOldest();
  }

  recorded(log: RunLog): void {
    const name = nameOfRun(log.key, log.invocationId);
    const isSeen = this.#active.get(name) === log && this.#active.delete(name);
    if (this.#unseen.get(name) === log) this.#unseen.delete(name);
    log.end();
    // A run that failed before anybody heard of it is told of in the answer to its request. One that was to be resumed and never had its
    // session leaves what is kept of it as it is.
    const isUnheard = !log.hasEvents && !log.wasRead;
    if (!isSeen || isUnheard || log.goesOn || this.#kept.has(name)) {
      if (!log.goesOn) log.publication?.forget();
      this.#chars -= log.chars;
    } else {
      this.#keep(name, log);
    }
    if (log.failure !== undefined) this.#report(log.failure);
  }

  /** Keeps a finished run for a while. */
  #keep(name: string, log: RunLog): void {
    const { maxKeptRuns, maxKeptChars, keepRunsMs } = this.limits;
    this.#kept.set(name, { log, endedMs: this.platform.now() });
    this.#keptChars += log.chars;
    while (this.#kept.size > maxKeptRuns) this.#forgetOldest();
    while (this.#kept.size > 1 && this.#keptChars > maxKeptChars / 4) this.#forgetOldest();
    if (!this.#isSweepSet && this.#kept.size > 0) this.#sweepIn(keepRunsMs);
  }

  /** One timer for all finished runs: it waits for the oldest. A process that has nothing else to do ends. */
  #sweepIn(delayMs: number): void {
    this.#isSweepSet = true;
    const sweep = (): void => {
      this.#isSweepSet = false;
      for (const { endedMs } of this.#kept.values()) {
        const leftMs = endedMs + this.limits.keepRunsMs - this.platform.now();
        if (leftMs > 0) return this.#sweepIn(leftMs);
        this.#forgetOldest();
      }
    };
    this.platform.schedule(delayMs, sweep, { idle: true });
  }

  /** False when there is none. */
  #forgetOldest(): boolean {
    for (const name of this.#kept.keys()) return this.#forget(name);
    return false;
  }

  #forget(name: string): boolean {
    const kept = this.#kept.get(name);
    if (!kept) return false;
    this.#kept.delete(name);
    this.#keptChars -= kept.log.chars;
    this.#chars -= kept.log.chars;
    return true;
  }

  #notFound({ sessionId }: SessionKey, invocationId: string): RunNotFoundError {
    return new RunNotFoundError(
      `session ${JSON.stringify(sessionId)} has no run ${JSON.stringify(invocationId)}; GET the session for what it has`,
    );
  }
}

/** A run that is followed, and the connection that reads it: none when there is nothing more to read. */
export interface FollowedRun {
  readonly invocationId: string;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | string | undefined;
}

/** Names a run of a session: a session that is forked or imported may have runs with the ids of others. Ids hold no NUL. */
function nameOfRun({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
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

function beyondEnd(position: number, lastPosition: number): InvalidRequestError {
  const [asked, last] = [formatPosition(position), formatPosition(lastPosition)];
  return new InvalidRequestError(`lastEventId: is ${asked}, and the last event of the run is ${last}`);
}

function goneError({ invocationId, gonePosition, key }: RunLog): RunEventsGoneError {
  const gone = formatPosition(gonePosition);
  return new RunEventsGoneError(
    `the events of run ${invocationId} up to number ${gone} are not kept any more; ` +
      `read session ${JSON.stringify(key.sessionId)}, then follow the run from ${gone}`,
  );
}

function shuttingDown(): EventloomError {
  return new ShuttingDownError('the server is shutting down; what a run committed is in the session, try again');
}
