import { type Platform, RunAbortedError, SessionBusyError, type SessionKey } from '@eventloom/core';
import { ServerBusyError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';
import { firstSeqOfAttempt } from './attempt-numbers.ts';
import { type FollowedRun, isRunOf, nameOfRun } from './followed-run.ts';
import { type BeginRun, HostedRun, type RunHost } from './hosted-run.ts';
import { RunMemory } from './run-memory.ts';
import type { RunPublication, RunRelay, RunStop } from './run-relay.ts';

/** How a run is started that is expected to go on. */
export interface ResumedRun {
  /** The run that is expected. The run has the id of its stream when it has its session. */
  readonly invocationId: string;
  /** True for a recovery run, which nobody asked for: hidden until it holds the session, then it replays its committed events. */
  readonly isUnasked?: boolean;
}

/** The runs of this process: those in flight, and those that ended a short while ago and can still be read. */
export class HostedRuns implements RunHost {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  readonly #memory: RunMemory;
  /** By their names, as the others. */
  readonly #inFlight = new Map<string, HostedRun>();
  /** Runs that nobody asked for and that do not have their session yet. */
  readonly #unseen = new Map<string, HostedRun>();
  /** Reports each failure of a run. */
  readonly report: (error: unknown) => void;
  readonly #relay: RunRelay | undefined;

  /** @param report told of each failure of a run */
  constructor(platform: Platform, limits: ServerLimits, report: (error: unknown) => void, relay: RunRelay | undefined) {
    this.#platform = platform;
    this.#limits = limits;
    this.report = report;
    this.#memory = new RunMemory(platform, limits);
    this.#relay = relay;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Those that have not ended. */
  get running(): HostedRun[] {
    return [...this.#inFlight.values(), ...this.#unseen.values()];
  }

  /** The run of this session that is in flight, or about to be. */
  inFlightRun(key: SessionKey, invocationId: string): HostedRun | undefined {
    const name = nameOfRun(key, invocationId);
    return this.#inFlight.get(name) ?? this.#unseen.get(name);
  }

  /** @throws ServerBusyError @throws SessionBusyError when this very run is in flight */
  start(key: SessionKey, begin: BeginRun, resumed: ResumedRun | undefined): HostedRun {
    if (resumed && this.inFlightRun(key, resumed.invocationId)) {
      throw new SessionBusyError(
        `the run ${resumed.invocationId} is in flight: it can be followed, and not be resumed`,
      );
    }
    if (this.#inFlight.size + this.#unseen.size >= this.#limits.maxRuns) {
      throw new ServerBusyError(`the server has ${this.#inFlight.size} runs in flight, as many as it takes; try again`);
    }
    if (this.#memory.isFull) {
      throw new ServerBusyError('the runs in flight fill all of the memory that is kept for events; try again');
    }
    if (!resumed) return this.#show(new HostedRun(key, this, begin));
    const { invocationId } = resumed;
    const name = nameOfRun(key, invocationId);
    const lastSeq = this.#memory.kept.get(name)?.finalSeq ?? this.#relay?.lastSeqOf?.(key, invocationId);
    const { isUnasked } = resumed;
    const firstSeq = firstSeqOfAttempt(this.#platform.now(), lastSeq);
    const run = new HostedRun(key, this, begin, { invocationId, firstSeq, isRetold: isUnasked === true });
    if (!isUnasked) return this.#show(run);
    this.#unseen.set(name, run);
    return run;
  }

  begun(run: HostedRun, expectedId: string): void {
    const expectedName = nameOfRun(run.key, expectedId);
    if (this.#unseen.delete(expectedName) || this.#inFlight.delete(expectedName)) this.#show(run);
    const before = this.#memory.kept.get(nameOfRun(run.key, run.invocationId));
    if (before) this.#memory.kept.forget(before);
  }

  #show(run: HostedRun): HostedRun {
    this.#inFlight.set(nameOfRun(run.key, run.invocationId), run);
    return run;
  }

  ended(run: HostedRun): void {
    const name = nameOfRun(run.key, run.invocationId);
    const wasSeen = !this.#unseen.delete(name);
    this.#inFlight.delete(name);
    const isUnheard = run.buffer.isEmpty && !run.wasFollowed && !run.hasEarlier;
    // A run that failed before anybody heard of it is told of in the answer to its request, and nobody can ask for it. One that was to go on and
    // never had its session leaves what is kept of it as it is.
    if (!wasSeen || isUnheard || this.#memory.kept.get(name)) {
      run.forgetElsewhere();
      this.#memory.released(run.buffer.chars);
    } else {
      this.#memory.keep(run);
    }
    if (run.failure !== undefined) this.report(run.failure);
  }

  /** A run of this session, in flight or ended a short while ago. */
  find(key: SessionKey, invocationId: string): HostedRun | undefined {
    const name = nameOfRun(key, invocationId);
    return this.#inFlight.get(name) ?? this.#memory.kept.get(name);
  }

  /** What another process asks for. */
  stop(invocationId: string, stop: RunStop): void {
    for (const run of [...this.#inFlight.values(), ...this.#memory.kept.values()]) {
      if (run.invocationId !== invocationId) continue;
      if (stop === 'cancel') run.cancel();
      else if (run.isEnded) this.#forget(run);
      else this.#platform.background(this.#endAndForget(run));
    }
  }

  /** Ends the runs of a session and forgets them, its finished ones too. Settles when they have ended. */
  async forgetSession(key: SessionKey): Promise<void> {
    for (const run of this.#memory.kept.values()) if (isRunOf(run, key)) this.#forget(run);
    const running = this.running.filter((run) => isRunOf(run, key));
    await Promise.all(running.map((run) => this.#endAndForget(run)));
  }

  async #endAndForget(run: HostedRun): Promise<void> {
    run.abort(new RunAbortedError('the session was deleted'));
    await run.ended;
    this.#forget(run);
  }

  #forget(run: HostedRun): void {
    run.forgetElsewhere();
    this.#memory.kept.forget(run);
  }

  appended(run: FollowedRun, chars: number): void {
    this.#memory.appended(run, chars);
  }

  released(chars: number): void {
    this.#memory.released(chars);
  }

  publish(run: HostedRun): RunPublication | undefined {
    return this.#relay?.publish(run);
  }

  schedule(delayMs: number, callback: () => void): () => void {
    return this.#platform.schedule(delayMs, callback);
  }
}
