import {
  ARTIFACTS_TO_RESTORE,
  coveredUntil,
  type GetSessionConfig,
  type LeaveOpen,
  reportTo,
  type RunConfig,
  type SessionKey,
  type SessionLease,
  type StaleWriterError,
} from '@eventloom/core';
import { answeredRun, findAnsweredRun } from './answered-run.ts';
import type { HeldLease } from './lease-keeper.ts';
import { restoreArtifacts } from './restore-artifacts.ts';
import type { Run, RunSupport } from './run.ts';
import type { Runner } from './runner.ts';
import type { LoadedSession } from './session-loader.ts';

/** How a run takes its session. */
export interface TakeSession {
  readonly runConfig: RunConfig;
  /** What it is taken for; `resumable` for a run that can go on when its process is gone. */
  readonly run: { readonly invocationId: string; readonly resumable: boolean };
  /** True when the session may be made, if there is none. */
  readonly canBegin: boolean;
  /** The part of its events that is read; undefined for all that counts. */
  readonly window: GetSessionConfig | undefined;
  readonly abortSignal: AbortSignal | undefined;
}

/** A session that a run has and read. */
export interface TakenSession {
  readonly held: HeldLease;
  readonly loaded: LoadedSession;
}

/** The session of one run: taken before it is read, kept while the run lasts, and given back. */
export class RunSession {
  readonly key: SessionKey;
  readonly #runner: Runner;
  readonly #support: RunSupport;
  /** Names the session among those of the runner: ids hold no NUL. */
  readonly #name: string;
  readonly #run: Run;
  #held: HeldLease | undefined;
  #loaded: LoadedSession | undefined;

  constructor(run: Run, runner: Runner, support: RunSupport, key: SessionKey) {
    this.key = key;
    this.#run = run;
    this.#runner = runner;
    this.#support = support;
    this.#name = `${key.userId}\0${key.sessionId}`;
  }

  /**
   * Takes the session and reads it. Answers go on with the run that asked, if that can be: it is looked up before, because the session is
   * taken for a run, and again when nobody else can change it any more.
   * @throws SessionBusyError when others change it again and again
   * @param invocationId the run that goes on, if the caller names one
   * @param callIds what is answered: these calls are among the events that are read
   * @param howFor says how the session is taken, given the id of the resumed run if there is one
   */
  async takeForRun(
    invocationId: string | undefined,
    callIds: readonly string[],
    howFor: (resumedId: string | undefined) => TakeSession,
  ): Promise<TakenSession> {
    const { sessionService } = this.#runner;
    const { sessions, active } = this.#support;
    const findsRun = invocationId === undefined && callIds.length > 0;
    for (let tries = 1; ; tries++) {
      const resumedId = findsRun ? await findAnsweredRun(sessionService, this.key, callIds, tries) : invocationId;
      const { runConfig, run, canBegin, window, abortSignal } = howFor(resumedId);
      await active.makeWay(this.#name, runConfig.onBusy, 'another run');
      const held = this.#hold(await sessions.acquire(this.key, runConfig, canBegin, abortSignal, run));
      const loaded = await sessions.load(this.key, this.#name, window, callIds, resumedId);
      this.#loaded = loaded;
      // A rewind that was cut off left something to do.
      if (Object.hasOwn(loaded.session.state, ARTIFACTS_TO_RESTORE)) await this.#finishRewind(loaded, held.lease);
      if (!findsRun || answeredRun(loaded.session.events, callIds) === resumedId) return { held, loaded };
      await this.giveBack(false);
    }
  }

  #hold(lease: SessionLease): HeldLease {
    const held = {
      lease,
      renewedMs: this.#runner.platform.now(),
      onLost: (error: StaleWriterError) => this.#run.abort(error),
    };
    this.#held = held;
    this.#support.keeper.hold(held);
    this.#support.active.set(this.#name, this.#run);
    return held;
  }

  /** A rewind that was cut off left artifacts as they were: agents see them as they have to be. */
  async #finishRewind({ session, derived }: LoadedSession, lease: SessionLease): Promise<void> {
    const covered = coveredUntil(session.events, derived);
    await restoreArtifacts(this.#runner, { session, lease, coveredUntil: covered });
  }

  async giveBack(leaveOpen: LeaveOpen): Promise<void> {
    if (!this.#held) return;
    const { sessions, keeper, active } = this.#support;
    const { lease } = this.#held;
    keeper.letGo(this.#held);
    this.#held = undefined;
    if (active.get(this.#name) === this.#run) active.delete(this.#name);
    if (this.#loaded) sessions.keep(this.#name, this.#loaded);
    this.#loaded = undefined;
    try {
      await this.#runner.sessionService.releaseLease(lease, leaveOpen ? { leaveOpen } : undefined);
    } catch (error) {
      // The lease runs out by itself; the run is what it is.
      reportTo(this.#runner.platform, error);
    }
  }
}
