import { type EventloomError, type Platform, type SessionKey, ShuttingDownError } from '@eventloom/core';
import { RunEventsGoneError, RunGoesOnError, RunNotFoundError, RunRelayError, TooManyReadersError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';
import { attemptOf, seqInAttempt } from './attempt-numbers.ts';
import type { FollowedRun } from './followed-run.ts';
import type { BeginRun, HostedRun } from './hosted-run.ts';
import { HostedRuns, type ResumedRun } from './hosted-runs.ts';
import { Heartbeat } from './heartbeat.ts';
import { drainRuns } from './run-drain.ts';
import { RunMirrors } from './run-mirrors.ts';
import { RunReader } from './run-reader.ts';
import type { RunRelay } from './run-relay.ts';
import { sseRetry } from './sse-frame.ts';

/** What readers of a server that shuts down are asked to wait. */
const RECONNECT_AFTER_MS = 2000;

/**
 * The runs of a server: its own, in flight or just ended, and with a relay also those of other processes that are followed here.
 * Bounded in number and in what it keeps: see `RunMemory`.
 */
export class RunRegistry {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  readonly #heartbeat: Heartbeat<RunReader>;
  readonly #own: HostedRuns;
  readonly #report: (error: unknown) => void;
  readonly #mirrors: RunMirrors | undefined;
  #isDraining = false;

  /**
   * @param report told of each failure of a run, and of a reader
   * @param relay the way to the other processes, where there are any
   */
  constructor(platform: Platform, limits: ServerLimits, report: (error: unknown) => void, relay?: RunRelay) {
    this.#platform = platform;
    this.#limits = limits;
    this.#heartbeat = new Heartbeat(platform, limits.heartbeatMs);
    this.#report = report;
    this.#own = new HostedRuns(platform, limits, report, relay);
    if (!relay) return;
    const { keepRunsMs } = limits;
    relay.attach({ platform, keepRunsMs, report, stop: (invocationId, stop) => this.#own.stop(invocationId, stop) });
    this.#mirrors = new RunMirrors(relay, this.#own);
  }

  get inFlight(): number {
    return this.#own.inFlight;
  }

  /** True once `drain` was called: no run is started any more. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** A run of this session that is in flight in this process, or about to be. */
  inFlightRun(key: SessionKey, invocationId: string): HostedRun | undefined {
    return this.#own.inFlightRun(key, invocationId);
  }

  /**
   * Starts a run and drives it to its end.
   * @param resumed for one that goes on: it takes the place of what is kept of it when it has its session, with numbers behind all of those that it had
   * @throws ServerBusyError @throws ShuttingDownError @throws SessionBusyError when this very run is in flight
   */
  start(key: SessionKey, begin: BeginRun, resumed?: ResumedRun): HostedRun {
    if (this.#isDraining) throw shuttingDown();
    return this.#own.start(key, begin, resumed);
  }

  /** A run of this session in this process, in flight or ended a short while ago. @throws RunNotFoundError */
  find(key: SessionKey, invocationId: string): HostedRun {
    const run = this.#own.find(key, invocationId);
    if (run) return run;
    throw this.#notFound(key, invocationId);
  }

  /**
   * Gives a run of this session, of whichever process, to `use`, which reads it then and there or lets it be.
   * @param afterSeq what the reader has already
   * @throws RunNotFoundError @throws RunRelayError, and what `use` throws
   */
  async use<T>(key: SessionKey, invocationId: string, afterSeq: number, use: (run: FollowedRun) => T): Promise<T> {
    const run = this.#own.find(key, invocationId);
    if (run && !run.isEnded) return use(run);
    const used = await this.#mirrors
      ?.find(key, invocationId, afterSeq, (mirror) => (isLater(mirror, run) ? { result: use(mirror) } : undefined))
      .catch((error: unknown) => {
        if (!run || !RunRelayError.isInstance(error)) throw error;
      });
    if (used) return used.result;
    if (run) return use(run);
    throw this.#notFound(key, invocationId);
  }

  /**
   * Ends a run of this session, of whichever process, and waits a short while for its end. One that ended already is left as it is.
   * @throws RunNotFoundError @throws RunRelayError
   */
  async cancel(key: SessionKey, invocationId: string): Promise<void> {
    const { answerAfterMs } = this.#limits;
    const run = this.#own.find(key, invocationId);
    if (run && !run.isEnded) {
      run.cancel();
      await run.endedWithin(answerAfterMs);
    } else if (!(await this.#mirrors?.cancel(key, invocationId, answerAfterMs)) && !run) {
      throw this.#notFound(key, invocationId);
    }
  }

  /**
   * Opens a connection that reads a run from behind the event with this number, or from its begin when the number is of an earlier attempt.
   * @param hasEventIds whether frames carry the numbers of their events
   * @throws RunEventsGoneError @throws TooManyReadersError
   */
  read(run: FollowedRun, afterSeq: number, hasEventIds = true): RunReader {
    const from = seqInAttempt(afterSeq, run.buffer.firstSeq);
    if (!run.buffer.hasAllAfter(from)) throw goneError(run, from + 1);
    if (run.followers.size >= this.#limits.maxReadersPerRun) {
      // Who went away from a silent run is still among them, until something is sent.
      for (const follower of run.followers) follower.probe();
      throw new TooManyReadersError(
        `the run ${run.invocationId} has ${run.followers.size} readers, as many as are served`,
      );
    }
    const reader = new RunReader(run, afterSeq, hasEventIds, this.#own, (closed, failure) => {
      this.#heartbeat.leave(closed);
      if (failure !== undefined) this.#report(failure);
    });
    this.#heartbeat.join(reader);
    if (this.#isDraining) reader.say(sseRetry(RECONNECT_AFTER_MS));
    return reader;
  }

  /** Ends the runs of a session and forgets them, its finished ones too, in all processes. Settles when they have ended. @throws RunRelayError */
  async forgetSession(key: SessionKey): Promise<void> {
    await Promise.all([this.#own.forgetSession(key), this.#mirrors?.forgetSession(key)]);
  }

  /**
   * Starts no run any more and brings those in flight to an end: see `drainRuns`. Their readers are asked to connect again; those of
   * other processes' runs are then sent away.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    this.#heartbeat.each((reader) => reader.say(sseRetry(RECONNECT_AFTER_MS)));
    await drainRuns(this.#platform, this.#own.running, timeoutMs, shuttingDown());
    this.#mirrors?.abandon(new RunGoesOnError('the server is shutting down, and the run goes on: follow it elsewhere'));
  }

  #notFound({ sessionId }: SessionKey, invocationId: string): RunNotFoundError {
    return new RunNotFoundError(
      `session ${JSON.stringify(sessionId)} has no run ${JSON.stringify(invocationId)} in flight or just ended; ` +
        `a run can be read for ${this.#limits.keepRunsMs / 1000} s after its end, its committed events are in the session`,
    );
  }
}

/** A run that ended here may go on in another process. */
function isLater(mirror: FollowedRun, run: HostedRun | undefined): boolean {
  return run === undefined || attemptOf(mirror.buffer.lastSeq) > attemptOf(run.buffer.lastSeq);
}

function goneError({ invocationId, buffer, key }: FollowedRun, seq: number): RunEventsGoneError {
  return new RunEventsGoneError(
    `event ${seq} of run ${invocationId} is not kept any more, the oldest that is kept has number ${buffer.firstSeq}; ` +
      `read session ${JSON.stringify(key.sessionId)}, then follow the run from ${buffer.firstSeq - 1}`,
  );
}

function shuttingDown(): EventloomError {
  return new ShuttingDownError('the server is shutting down; what a run committed is in the session, try again');
}
