import { type EventloomError, type Platform, RunAbortedError, type SessionKey } from '@eventloom/core';
import { RunEventsGoneError } from '../errors/run-events-gone-error.ts';
import { RunNotFoundError } from '../errors/run-not-found-error.ts';
import { ServerBusyError } from '../errors/server-busy-error.ts';
import { ShuttingDownError } from '../errors/shutting-down-error.ts';
import { TooManyReadersError } from '../errors/too-many-readers-error.ts';
import type { ServerLimits } from '../server-limits.ts';
import { HostedRun, type RunEvents, type RunHost } from './hosted-run.ts';
import { Heartbeat } from './heartbeat.ts';
import { RunReader } from './run-reader.ts';
import { sseRetry } from './sse-frame.ts';

/** What readers of a server that shuts down are asked to wait. */
const RECONNECT_AFTER_MS = 2000;
/** What an aborted run may take to put things away. */
const GRACE_MS = 1000;

/**
 * The runs of a server: those in flight, and those that ended a short while ago and can still be read. Bounded in number and in
 * what it keeps: finished runs go first, the oldest before the others; then the run that appends loses its own oldest events.
 */
export class RunRegistry implements RunHost {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  readonly #heartbeat: Heartbeat;
  readonly #inFlight = new Map<string, HostedRun>();
  /** In the order they ended, with the time of it. */
  readonly #kept = new Map<string, { readonly run: HostedRun; readonly endedMs: number }>();
  readonly #report: (error: unknown) => void;
  /** Characters that are kept of all runs, and of those the ones of finished runs. */
  #chars = 0;
  #keptChars = 0;
  #isDraining = false;
  #isSweepSet = false;

  /** @param report told of each failure of a run */
  constructor(platform: Platform, limits: ServerLimits, report: (error: unknown) => void) {
    this.#platform = platform;
    this.#limits = limits;
    this.#report = report;
    this.#heartbeat = new Heartbeat(platform, limits.heartbeatMs);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** True once `drain` was called: no run is started any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Starts a run and drives it to its end. @throws ServerBusyError @throws ShuttingDownError */
  start(key: SessionKey, begin: (abortSignal: AbortSignal) => RunEvents): HostedRun {
    if (this.#isDraining) throw shuttingDown();
    if (this.#inFlight.size >= this.#limits.maxRuns) {
      throw new ServerBusyError(`the server has ${this.#inFlight.size} runs in flight, as many as it takes; try again`);
    }
    if (this.#chars - this.#keptChars >= this.#limits.maxKeptChars) {
      throw new ServerBusyError('the runs in flight fill all of the memory that is kept for events; try again');
    }
    const run = new HostedRun(key, this, begin);
    this.#inFlight.set(run.invocationId, run);
    return run;
  }

  /** A run of this session, in flight or ended a short while ago. @throws RunNotFoundError */
  find(key: SessionKey, invocationId: string): HostedRun {
    const run = this.#inFlight.get(invocationId) ?? this.#kept.get(invocationId)?.run;
    if (run && isOf(run, key)) return run;
    throw new RunNotFoundError(
      `session ${JSON.stringify(key.sessionId)} has no run ${JSON.stringify(invocationId)} in flight or just ended; ` +
        `a run can be read for ${this.#limits.keepRunsMs / 1000} s after its end, its committed events are in the session`,
    );
  }

  /**
   * A new connection that reads a run from behind the event with this number.
   * @throws RunEventsGoneError @throws TooManyReadersError
   */
  read(run: HostedRun, afterSeq: number): RunReader {
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

  /** Ends the runs of a session and forgets them, its finished ones too. Settles when they have ended. */
  async forgetSession(key: SessionKey): Promise<void> {
    for (const { run } of this.#kept.values()) if (isOf(run, key)) this.#forget(run);
    const running = [...this.#inFlight.values()].filter((run) => isOf(run, key));
    for (const run of running) run.abort(new RunAbortedError('the session was deleted'));
    await Promise.all(running.map((run) => run.ended));
    for (const run of running) this.#forget(run);
  }

  /**
   * Starts no run any more and brings those in flight to an end: half of the time they may finish, then each stops at its next
   * commit, and at the end of the time at once. Their readers are asked to connect again. Settles at the latest one second
   * after the time; what has not ended by then is left to itself.
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
    for (const cancel of cancels) cancel();
  }

  #eachRun(act: (run: HostedRun) => void): void {
    for (const run of this.#inFlight.values()) act(run);
  }

  appended(run: HostedRun, chars: number): void {
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.#limits;
    while (this.#chars > maxKeptChars && this.#forgetOldest());
    while (run.buffer.count > 1 && (run.buffer.chars > maxRunChars || this.#chars > maxKeptChars)) {
      this.#chars -= run.buffer.dropOldest();
    }
  }

  ended(run: HostedRun): void {
    this.#inFlight.delete(run.invocationId);
    if (run.failure !== undefined) this.#report(run.failure);
    // A run that failed before anybody heard of it is told of in the answer to its request, and nobody can ask for it.
    if (run.buffer.lastSeq === 0 && !run.wasFollowed) return;
    this.#kept.set(run.invocationId, { run, endedMs: this.#platform.now() });
    this.#keptChars += run.buffer.chars;
    const { maxKeptRuns, maxKeptChars } = this.#limits;
    while (this.#kept.size > maxKeptRuns) this.#forgetOldest();
    while (this.#kept.size > 1 && this.#keptChars > maxKeptChars / 4) this.#forgetOldest();
    this.#setSweep();
  }

  schedule(delayMs: number, callback: () => void): () => void {
    return this.#platform.schedule(delayMs, callback);
  }

  #forgetOldest(): boolean {
    for (const { run } of this.#kept.values()) {
      this.#forget(run);
      return true;
    }
    return false;
  }

  #forget(run: HostedRun): void {
    if (!this.#kept.delete(run.invocationId)) return;
    this.#chars -= run.buffer.chars;
    this.#keptChars -= run.buffer.chars;
  }

  /** One timer for all finished runs: it waits for the oldest. */
  #setSweep(): void {
    const [oldest] = this.#kept.values();
    if (this.#isSweepSet || !oldest) return;
    this.#isSweepSet = true;
    const { keepRunsMs } = this.#limits;
    this.schedule(Math.max(0, oldest.endedMs + keepRunsMs - this.#platform.now()), () => {
      this.#isSweepSet = false;
      const now = this.#platform.now();
      for (const { run, endedMs } of this.#kept.values()) {
        if (endedMs + keepRunsMs > now) break;
        this.#forget(run);
      }
      this.#setSweep();
    });
  }
}

function isOf({ key }: HostedRun, { appName, userId, sessionId }: SessionKey): boolean {
  return key.sessionId === sessionId && key.userId === userId && key.appName === appName;
}

function goneError({ invocationId, buffer, key }: HostedRun, seq: number): RunEventsGoneError {
  return new RunEventsGoneError(
    `event ${seq} of run ${invocationId} is not kept any more, the oldest that is kept has number ${buffer.firstSeq}; ` +
      `read session ${JSON.stringify(key.sessionId)}, then follow the run from ${buffer.firstSeq - 1}`,
  );
}

function shuttingDown(): EventloomError {
  return new ShuttingDownError('the server is shutting down; what the run committed is in the session, try again');
}
