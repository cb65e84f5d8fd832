import {
  type AcquireLeaseRequest,
  AgentError,
  type BeginRunRequest,
  type BegunRun,
  type EndRunRequest,
  type Event,
  type EventloomError,
  type LeaveOpen,
  type MaybePromise,
  type OnBusy,
  RUN_CONFIG_DEFAULTS,
  type Session,
  type SessionKey,
  type SessionLease,
  StaleWriterError,
} from '@eventloom/core';
import { ARTIFACTS_TO_RESTORE, createErrorEvent, reportTo } from '@eventloom/core/internal';
import { coveredUntil } from './event-committer.ts';
import { type AbortableRun, HeldLease, LeaseKeeper, repeatWhileAway } from './lease-keeper.ts';
import { restoreArtifacts } from './restore-artifacts.ts';
import type { Runner } from './runner.ts';
import type { SessionCacheOptions } from './session-loader.ts';
import { type LoadedSession, type LoadRequest, SessionLoader } from './session-loader.ts';

/** A run of this process that has a session, as another one that wants it sees it. */
export interface SessionHolder extends AbortableRun {
  /** Ends the run, after it stored what cannot be said again. */
  yieldSession(reason: EventloomError): Promise<void>;
}

/** A session to be locked. */
export interface LockRequest {
  readonly key: SessionKey;
  /** Named to the run that has to yield the session: `another run`, `a rewind`. */
  readonly purpose: string;
  readonly onBusy: OnBusy | undefined;
  readonly busyWaitMs?: number | undefined;
  /** Gives up waiting. */
  readonly abortSignal?: AbortSignal | undefined;
  /** Called when another writer took the session, and when the storage could not be used until the lease ran out. */
  readonly onLost: (error: EventloomError) => void;
  /** Yields the session when another run of this process interrupts. Absent for what cannot be interrupted. */
  readonly holder?: SessionHolder | undefined;
}

/** A session to be locked for a run, and read. */
export interface BeginRequest extends LockRequest, LoadRequest {
  readonly run: Pick<BeginRunRequest, 'invocationId' | 'requestId' | 'resumable' | 'continues'>;
  /** Whether a session that does not exist may be created, if the runner is configured to. Default false. */
  readonly mayCreate?: boolean | undefined;
}

/** The runner's options that concern sessions. */
export interface SessionLocksOptions {
  readonly autoCreateSession?: boolean | undefined;
  readonly leaseTtlMs?: number | undefined;
  readonly sessionCache?: SessionCacheOptions | undefined;
}

const DEFAULT_LEASE_TTL_MS = 15_000;

/** Locks the sessions of one runner, so that each has one writer, and remembers their events between runs. */
export class SessionLocks {
  readonly runner: Runner;
  readonly keeper: LeaseKeeper;
  readonly loader: SessionLoader;
  /** The runs of this process that have a session, by its name. */
  readonly holders: Map<string, SessionHolder> = new Map();
  readonly #mayCreate: boolean;
  readonly #ttlMs: number;

  constructor(runner: Runner, options: SessionLocksOptions) {
    this.runner = runner;
    this.keeper = new LeaseKeeper(runner.sessionService, runner.platform);
    this.loader = new SessionLoader(runner.sessionService, options.sessionCache);
    this.#mayCreate = options.autoCreateSession ?? false;
    this.#ttlMs = options.leaseTtlMs ?? DEFAULT_LEASE_TTL_MS;
  }

  /** Locks a session for something else than a run. @throws SessionNotFoundError SessionBusyError RunAbortedError */
  async lock(request: LockRequest): Promise<LockedSession> {
    const yielding = this.#yield(request);
    if (yielding) await yielding;
    const lease = this.#toLease(request);
    const acquired = await this.#untilAnswered(() => this.runner.sessionService.acquireLease(lease), request);
    return new LockedSession(this, request, acquired);
  }

  /**
   * Locks a session for a run, reads it, and appends the message if there is one: one call of the store. When older events cannot be read
   * after that, the failure is stored behind the message of a run that cannot be resumed.
   *
   * @throws SessionNotFoundError SessionBusyError UnfinishedRunError RequestKnownError RunNotFoundError RunAbortedError, and what
   * `appendEvent` throws for the message
   */
  async begin(request: BeginRequest): Promise<BegunSession> {
    const { sessionService } = this.runner;
    const { key, run, onBusy, window, message, mayCreate = false } = request;
    const name = nameOf(key);
    const { requestId } = run;
    const isHeldHere = onBusy === 'interrupt' && this.holders.has(name);
    // A run does not yield its session to a request that is known and will be refused.
    const known =
      isHeldHere && requestId !== undefined ? await sessionService.findRun({ ...key, id: requestId }) : undefined;
    if (isHeldHere && (!known || known.invocationId === run.invocationId)) await this.#yield(request);
    const beginning: BeginRunRequest = {
      ...this.#toLease(request),
      ...run,
      create: this.#mayCreate && mayCreate,
      read: this.loader.firstRead(name, window),
      message,
    };
    let tries = 1;
    const repeat = async (): Promise<BegunRun> => {
      // An answer that was lost may have given the session to this run. Nobody else begins a new run, so it takes the session from itself.
      const known = run.continues ? undefined : await sessionService.findRun({ ...key, id: run.invocationId });
      const isOwn = known?.open !== undefined && known.open.attempts <= tries++;
      return sessionService.beginRun(isOwn ? { ...beginning, onBusy: 'interrupt' } : beginning);
    };
    const answer = this.#untilAnswered(() => sessionService.beginRun(beginning), request, repeat);
    const begun = answer instanceof Promise ? await answer : answer;
    const locked = new LockedSession(this, request, begun.lease, {
      ...run,
      lastSeq: begun.session.lastSeq,
      firstSeq: begun.firstSeq,
      wasOpen: begun.wasOpen,
    });
    try {
      const loading = locked.held.write((session) => this.loader.load(key, name, session, request), begun.session);
      const loaded = loading instanceof Promise ? await loading : loading;
      locked.loaded = loaded;
      return { locked, loaded };
    } catch (error) {
      if (!begun.message) await locked.undo();
      else if (run.resumable) await locked.unlock(true);
      else await locked.unlock(!(await this.#storeFailure(begun.session, begun.message, begun.lease, error)));
      throw error;
    }
  }

  /** Returns false if the failure could not be stored. */
  async #storeFailure(session: Session, message: Event, lease: SessionLease, thrown: unknown): Promise<boolean> {
    const { appName: author, platform, sessionService } = this.runner;
    const { code, publicMessage } = AgentError.around(thrown, 'the run');
    const { invocationId } = message;
    const timestamp = platform.now() / 1000;
    const params = { id: platform.newEventId(), invocationId, executionId: invocationId, author, timestamp };
    try {
      await sessionService.appendEvent({ session, lease, event: createErrorEvent(params, code, publicMessage) });
      return true;
    } catch (error) {
      reportTo(platform, error);
      return false;
    }
  }

  /** A run of another process notices at its next append that it lost the session. */
  #yield({ key, onBusy, purpose }: LockRequest): Promise<void> | undefined {
    if (onBusy !== 'interrupt') return undefined;
    const reason = new StaleWriterError(`the run was interrupted by ${purpose} of its session`);
    return this.holders.get(nameOf(key))?.yieldSession(reason);
  }

  /**
   * Asks for a session, and asks again while the storage cannot be used: for as long as a lease, because an answer that was lost may have given
   * one.
   */
  #untilAnswered<T>(
    ask: () => MaybePromise<T>,
    { abortSignal }: LockRequest,
    repeat: () => MaybePromise<T> = ask,
  ): MaybePromise<T> {
    const { platform } = this.runner;
    const again = (error: unknown): Promise<T> =>
      repeatWhileAway(repeat, error, platform, platform.now() + this.#ttlMs, abortSignal);
    try {
      const answer = ask();
      return answer instanceof Promise ? answer.catch(again) : answer;
    } catch (error) {
      return again(error);
    }
  }

  #toLease({ key, onBusy, busyWaitMs, abortSignal }: LockRequest): AcquireLeaseRequest {
    return {
      ...key,
      ttlMs: this.#ttlMs,
      onBusy: onBusy ?? RUN_CONFIG_DEFAULTS.onBusy,
      waitMs: busyWaitMs ?? RUN_CONFIG_DEFAULTS.busyWaitMs,
      abortSignal,
    };
  }
}

/** A session that is locked for a run, and its events. */
export interface BegunSession {
  readonly locked: LockedSession;
  readonly loaded: LoadedSession;
}

/** The run that a session is locked for. */
export interface LockedFor extends Pick<BeginRunRequest, 'invocationId' | 'requestId' | 'continues'> {
  /** How many events the session had when it was locked, the message included. */
  readonly lastSeq: number;
  /** The session's sequence number of the run's first event. */
  readonly firstSeq: number;
  readonly wasOpen: boolean;
}

/** A session that nobody else can write to. */
export class LockedSession {
  readonly key: SessionKey;
  readonly lease: SessionLease;
  readonly held: HeldLease;
  /** Undefined for a session that is not locked for a run. */
  readonly run: LockedFor | undefined;
  /** Remembered for the next run, when the session is unlocked. */
  loaded: LoadedSession | undefined;
  readonly #locks: SessionLocks;
  readonly #holder: SessionHolder | undefined;
  #isLocked = true;

  constructor(locks: SessionLocks, { key, onLost, holder }: LockRequest, lease: SessionLease, run?: LockedFor) {
    this.key = key;
    this.lease = lease;
    this.run = run;
    this.#locks = locks;
    this.#holder = holder;
    this.held = new HeldLease(lease, locks.runner.platform, { onLost, run: holder });
    locks.keeper.hold(this.held);
    if (holder) locks.holders.set(nameOf(key), holder);
  }

  /** Does what an interrupted rewind left to do, so that agents see the session's artifacts as they have to be. Undefined for nothing. */
  finishRewind({ session, derived }: LoadedSession): Promise<unknown> | undefined {
    if (!Object.hasOwn(session.state, ARTIFACTS_TO_RESTORE)) return undefined;
    const covered = coveredUntil(session.events, derived);
    return restoreArtifacts(this.#locks.runner, { session, lease: this.lease, coveredUntil: covered });
  }

  /**
   * Appends the last event of the run and unlocks the session: one call of the store.
   * @throws whatever `appendEvent` throws; then nothing is changed
   */
  async end(event: Event, session: Session): Promise<void> {
    const { sessionService } = this.#locks.runner;
    await this.held.write((end: EndRunRequest) => sessionService.endRun(this.lease, end), { session, event });
    this.#letGo();
  }

  /**
   * Lets the next one in. A second call does nothing, and neither does the call when the lease is lost. While the storage cannot be used, the
   * release is repeated in the background. A failure is reported to the platform: the lease runs out by itself.
   * @param leaveOpen whether the run that the session was locked for stays open, to be resumed or closed later
   * @param forget ids of runs and requests of which nothing was stored
   */
  async unlock(leaveOpen: LeaveOpen = false, forget?: readonly string[]): Promise<void> {
    if (!this.#isLocked) return;
    this.#letGo();
    if (this.held.isLost) return;
    const { sessionService, platform } = this.#locks.runner;
    const release = (): MaybePromise<void> =>
      sessionService.releaseLease(this.lease, leaveOpen || forget ? { leaveOpen, forget } : undefined);
    try {
      const released = release();
      if (released instanceof Promise) await released;
    } catch (error) {
      platform.background(repeatWhileAway(release, error, platform, this.held.endMs));
    }
  }

  /** Unlocks the session as if the run had never begun. A run of which something was stored meanwhile stays open. */
  async undo(): Promise<void> {
    const { run, loaded } = this;
    if (!run) return this.unlock();
    const { lastSeq, invocationId, requestId, continues, wasOpen } = run;
    const { session } = loaded ?? {};
    if (session && session.lastSeq > lastSeq) return this.unlock(true);
    const forget = continues ? [] : [invocationId];
    if (requestId !== undefined && !session?.events.some((event) => event.requestId === requestId))
      forget.push(requestId);
    await this.unlock(wasOpen ? 'uncounted' : false, forget);
  }

  #letGo(): void {
    this.#isLocked = false;
    const { keeper, holders, loader } = this.#locks;
    const name = nameOf(this.key);
    keeper.letGo(this.held);
    if (this.#holder && holders.get(name) === this.#holder) holders.delete(name);
    if (this.loaded) loader.keep(name, this.loaded);
  }
}

/** The name of a session among those of a runner. Ids hold no NUL. */
function nameOf({ userId, sessionId }: SessionKey): string {
  return `${userId}\0${sessionId}`;
}
