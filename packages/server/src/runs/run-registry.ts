import {
  type EventloomError,
  type Platform,
  RunAbortedError,
  SessionBusyError,
  type SessionKey,
} from '@eventloom/core';
import { RunEventsGoneError } from '../errors/run-events-gone-error.ts';
import { RunNotFoundError } from '../errors/run-not-found-error.ts';
import { ServerBusyError } from '../errors/server-busy-error.ts';
import { ShuttingDownError } from '../errors/shutting-down-error.ts';
import { TooManyReadersError } from '../errors/too-many-readers-error.ts';
import type { ServerLimits } from '../server-limits.ts';
import { type FollowedRun, isRunOf } from './followed-run.ts';
import { HostedRun, type RunEvents, type RunHost } from './hosted-run.ts';
import { Heartbeat } from './heartbeat.ts';
import { KeptRuns } from './kept-runs.ts';
import { RunMirrors } from './run-mirrors.ts';
import { RunReader } from './run-reader.ts';
import type { RunPublication, RunRelay, RunStop } from './run-relay.ts';
import { sseRetry } from './sse-frame.ts';

/** What readers of a server that shuts down are asked to wait. */
const RECONNECT_AFTER_MS = 2000;
/** What an aborted run may take to put things away. */
const GRACE_MS = 1000;

/**
 * The runs of a server: those in flight, and those that ended a short while ago and can still be read; with a relay, also those of
 * other processes that are followed here. Bounded in number and in what it keeps: finished runs go first, the oldest before the
 * others; then the run that appends loses its own oldest events.
 */
export class RunRegistry implements RunHost {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  readonly #heartbeat: Heartbeat;
  readonly #inFlight = new Map<string, HostedRun>();
  readonly #kept: KeptRuns;
  readonly #report: (error: unknown) => void;
  readonly #relay: RunRelay | undefined;
  readonly #mirrors: RunMirrors | undefined;
  /** Characters that are kept of all runs. */
  #chars = 0;
  #isDraining = false;

  /**
   * @param report told of each failure of a run
   * @param relay the way to the other processes, where there are any
   */
  constructor(platform: Platform, limits: ServerLimits, report: (error: unknown) => void, relay?: RunRelay) {
    this.#platform = platform;
    this.#limits = limits;
    this.#report = report;
    this.#heartbeat = new Heartbeat(platform, limits.heartbeatMs);
    const { keepRunsMs } = limits;
    this.#kept = new KeptRuns(platform, keepRunsMs, (chars) => this.released(chars));
    this.#relay = relay;
    if (!relay) return;
    relay.attach({ platform, keepRunsMs, report, stop: (invocationId, stop) => this.#stop(invocationId, stop) });
    this.#mirrors = new RunMirrors(relay, this);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** True once `drain` was called: no run is started any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Starts a run and drives it to its end.
   * @param resumed the id of the run, when it is one that goes on: it takes the place of what is kept of it
   * @throws ServerBusyError @throws ShuttingDownError @throws SessionBusyError when this very run is in flight
   */
  start(key: SessionKey, begin: (abortSignal: AbortSignal) => RunEvents, resumed?: string): HostedRun {
    if (this.#isDraining) throw shuttingDown();
    if (resumed !== undefined && this.#inFlight.has(resumed)) {
      throw new SessionBusyError(`the run ${resumed} is in flight: it can be followed, and not be resumed`);
    }
    if (this.#inFlight.size >= this.#limits.maxRuns) {
      throw new ServerBusyError(`the server has ${this.#inFlight.size} runs in flight, as many as it takes; try again`);
    }
    if (this.#chars - this.#kept.chars >= this.#limits.maxKeptChars) {
      throw new ServerBusyError('the runs in flight fill all of the memory that is kept for events; try again');
    }
    const run = new HostedRun(key, this, begin);
    const before = this.#kept.get(run.invocationId);
    if (before) this.#kept.forget(before);
    this.#inFlight.set(run.invocationId, run);
    return run;
  }

  /** A run of this session in this process, in flight or ended a short while ago. @throws RunNotFoundError */
  find(key: SessionKey, invocationId: string): HostedRun {
    const run = this.#own(key, invocationId);
    if (run) return run;
    throw this.#notFound(key, invocationId);
  }

  /**
   * Gives a run of this session, of whichever process, to `use`, which reads it then and there or lets it be.
   * @param afterSeq what the reader has already
   * @throws RunNotFoundError @throws RunRelayError, and what `use` throws
   */
  async use<T>(key: SessionKey, invocationId: string, afterSeq: number, use: (run: FollowedRun) => T): Promise<T> {
    const run = this.#own(key, invocationId);
    if (run) return use(run);
    const used = await this.#mirrors?.find(key, invocationId, afterSeq, (mirror) => ({ result: use(mirror) }));
    if (used) return used.result;
    throw this.#notFound(key, invocationId);
  }

  /**
   * Ends a run of this session, of whichever process, and waits a short while for its end. One that ended already is left as it is.
   * @throws RunNotFoundError @throws RunRelayError
   */
  async cancel(key: SessionKey, invocationId: string): Promise<void> {
    const { answerAfterMs } = this.#limits;
    const run = this.#own(key, invocationId);
    if (run) {
      cancel(run);
      await run.endedWithin(answerAfterMs);
    } else if (!(await this.#mirrors?.cancel(key, invocationId, answerAfterMs))) {
      throw this.#notFound(key, invocationId);
    }
  }

  /**
   * A new connection that reads a run from behind the event with this number.
   * @throws RunEventsGoneError @throws TooManyReadersError
   */
  read(run: FollowedRun, afterSeq: number): RunReader {
    if (!run.buffer.hasAllAfter(afterSeq)) throw goneError(run, afterSeq + 1);
    if (run.followers.size >= this.#limits.maxReadersPerRun) {
      throw new TooManyReadersError(
        `the run ${run.invocationId} has ${run.followers.size} readers, as many as are served`,
      );
    }
    const reader = new RunReader(run, afterSeq, this, (closed) => this.#heartbeat.leave(closed));
    this.#heartbeat.join(reader);
    if (this.#isDraining) reader.say(sseRetry(RECONNECT_AFTER_MS));
    return reader;
  }

  /** Ends the runs of a session and forgets them, its finished ones too, in all processes. Settles when they have ended. @throws RunRelayError */
  async forgetSession(key: SessionKey): Promise<void> {
    await Promise.all([this.#forgetHere(key), this.#mirrors?.forgetSession(key)]);
  }

  async #forgetHere(key: SessionKey): Promise<void> {
    for (const run of this.#kept.values()) if (isRunOf(run, key)) this.#forgetEverywhere(run);
    const running = [...this.#inFlight.values()].filter((run) => isRunOf(run, key));
    await Promise.all(running.map((run) => this.#endAndForget(run)));
  }

  async #endAndForget(run: HostedRun): Promise<void> {
    run.abort(new RunAbortedError('the session was deleted'));
    await run.ended;
    this.#forgetEverywhere(run);
  }

  /** What another process asks for. */
  #stop(invocationId: string, stop: RunStop): void {
    const run = this.#inFlight.get(invocationId) ?? this.#kept.get(invocationId);
    if (!run) return;
    if (stop === 'cancel') cancel(run);
    else if (run.isEnded) this.#forgetEverywhere(run);
    else this.#platform.background(this.#endAndForget(run));
  }

  /**
   * Starts no run any more and brings those in flight to an end: half of the time they may finish, then each stops at its next
   * commit, and at the end of the time at once. Their readers are asked to connect again; those of other processes' runs are then
   * sent away. Settles at the latest one second after the time; what has not ended by then is left to itself.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    this.#heartbeat.say(sseRetry(RECONNECT_AFTER_MS));
    const reason = shuttingDown();
    const late = Promise.withResolvers<void>();
    const cancels = [
      this.schedule(timeoutMs / 2, () => this.#eachRun((run) => run.stopAtCommit(reason))),
      this.schedule(timeoutMs, () => this.#eachRun((run) => run.abort(reason))),
      this.schedule(timeoutMs + GRACE_MS, late.resolve),
    ];
    await Promise.race([Promise.all([...this.#inFlight.values()].map((run) => run.ended)), late.promise]);
    for (const callOff of cancels) callOff();
    this.#mirrors?.abandon(new ShuttingDownError('this server is shutting down, and the run goes on: connect again'));
  }

  #eachRun(act: (run: HostedRun) => void): void {
    for (const run of this.#inFlight.values()) act(run);
  }

  appended(run: FollowedRun, chars: number): void {
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.#limits;
    while (this.#chars > maxKeptChars && this.#kept.forgetOldest());
    while (run.buffer.count > 1 && (run.buffer.chars > maxRunChars || this.#chars > maxKeptChars)) {
      this.#chars -= run.buffer.dropOldest();
    }
  }

  ended(run: HostedRun): void {
    this.#inFlight.delete(run.invocationId);
    if (run.failure !== undefined) this.#report(run.failure);
    // A run that failed before anybody heard of it is told of in the answer to its request, and nobody can ask for it.
    if (run.buffer.lastSeq === 0 && !run.wasFollowed) {
      run.forgetElsewhere();
      return;
    }
    const { maxKeptRuns, maxKeptChars } = this.#limits;
    if (maxKeptRuns === 0) {
      this.released(run.buffer.chars);
      return;
    }
    this.#kept.add(run);
    while (this.#kept.size > maxKeptRuns) this.#kept.forgetOldest();
    while (this.#kept.size > 1 && this.#kept.chars > maxKeptChars / 4) this.#kept.forgetOldest();
  }

  publish(run: HostedRun): RunPublication | undefined {
    return this.#relay?.publish(run);
  }

  released(chars: number): void {
    this.#chars -= chars;
  }

  schedule(delayMs: number, callback: () => void): () => void {
    return this.#platform.schedule(delayMs, callback);
  }

  #own(key: SessionKey, invocationId: string): HostedRun | undefined {
    const run = this.#inFlight.get(invocationId) ?? this.#kept.get(invocationId);
    return run && isRunOf(run, key) ? run : undefined;
  }

  #notFound({ sessionId }: SessionKey, invocationId: string): RunNotFoundError {
    return new RunNotFoundError(
      `session ${JSON.stringify(sessionId)} has no run ${JSON.stringify(invocationId)} in flight or just ended; ` +
        `a run can be read for ${this.#limits.keepRunsMs / 1000} s after its end, its committed events are in the session`,
    );
  }

  #forgetEverywhere(run: HostedRun): void {
    run.forgetElsewhere();
    this.#kept.forget(run);
  }
}

function cancel(run: HostedRun): void {
  if (!run.isEnded) run.abort(new RunAbortedError('the run was cancelled'));
}

function goneError({ invocationId, buffer, key }: FollowedRun, seq: number): RunEventsGoneError {
  return new RunEventsGoneError(
    `event ${seq} of run ${invocationId} is not kept any more, the oldest that is kept has number ${buffer.firstSeq}; ` +
      `read session ${JSON.stringify(key.sessionId)}, then follow the run from ${buffer.firstSeq - 1}`,
  );
}

function shuttingDown(): EventloomError {
  return new ShuttingDownError('the server is shutting down; what the run committed is in the session, try again');
}
