import {
  type AcquireLeaseRequest,
  type AppendEventRequest,
  type AppendEventsRequest,
  AgentError,
  type BaseSessionService,
  type BeginRunRequest,
  type BegunRun,
  type EndRunRequest,
  type Event,
  type EventloomError,
  type GetSessionConfig,
  type MaybePromise,
  type OnBusy,
  type ReleaseLeaseOptions,
  type RunOutcome,
  type RunRecord,
  type Session,
  type SessionKey,
  type SessionLease,
  StaleWriterError,
  SessionNotFoundError,
  StorageError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  type AbortGuard,
  createErrorEvent,
  errorOutcome,
  reportTo,
  RUN_CONFIG_DEFAULTS,
  type ToolLedger,
} from '@eventloom/core/internal';
import { type HeldLease, isUnavailable, LeaseKeeper, repeatWhileUnavailable } from './lease-keeper.ts';
import type { Runner } from './runner.ts';
import type { SessionCacheOptions } from './session-loader.ts';
import { type LoadedSession, type LoadRequest, SessionLoader } from './session-loader.ts';

/** A run of this process that has locked a session, from the view of another run that waits for the session. */
export interface LockingRun {
  /** Fires when the run is stopped, and also when only its agent is stopped, before the end of the run is stored. */
  readonly abortGuard: AbortGuard;
  /** The reason of the abort; undefined unless the run was aborted. */
  readonly abortReason: EventloomError | undefined;
  /** Ends the run at once. */
  abort(reason: EventloomError): void;
  /** Ends the run; a live run first stores the speech so far. */
  yieldSession(reason: EventloomError): Promise<void>;
  /** Notes that the run has begun: its message is stored. */
  noteBegun(run: Pick<RunRecord, 'invocationId' | 'firstSeq'>, lease: SessionLease): void;
}

/** A request to lock a session. */
export interface LockRequest {
  readonly key: SessionKey;
  /** The reason that the interrupted run gets: `another run`, `a rewind`. */
  readonly purpose: string;
  readonly onBusy: OnBusy | undefined;
  readonly busyWaitMs?: number | undefined;
  /** Ends the wait for the lock. */
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * The run that yields the session when another run of this process interrupts it, and that is aborted when the lease
   * is lost. Absent for work that cannot be interrupted.
   */
  readonly lockingRun?: LockingRun | undefined;
}

/** A request to lock a session for a run, and to read it. */
export interface BeginRequest extends LockRequest, LoadRequest {
  readonly run: Pick<
    BeginRunRequest,
    'invocationId' | 'requestId' | 'resumable' | 'continues' | 'lastEpoch' | 'webhook'
  >;
  /** True to create a missing session if the runner is configured to. Default false. */
  readonly mayCreate?: boolean | undefined;
}

/** The runner's options that concern sessions. */
export interface SessionLocksOptions {
  readonly autoCreateSession?: boolean | undefined;
  readonly leaseTtlMs?: number | undefined;
  readonly sessionCache?: SessionCacheOptions | undefined;
}

const DEFAULT_LEASE_TTL_MS = 15_000;
/** Maximum time for which a session cannot be locked because of the storage, in milliseconds: callers wait for their answer meanwhile. */
const MAX_OUTAGE_MS = 10_000;

/** Locks the sessions of one runner, so that each has one writer, and remembers their events between runs. */
export class SessionLocks {
  readonly runner: Runner;
  readonly keeper: LeaseKeeper;
  readonly loader: SessionLoader;
  /** The runs of this process that have locked a session, by the name of the session. */
  readonly lockingRuns: Map<string, LockingRun> = new Map();
  readonly #mayCreate: boolean;
  readonly #ttlMs: number;

  constructor(runner: Runner, options: SessionLocksOptions) {
    this.runner = runner;
    this.keeper = new LeaseKeeper(runner.sessionService, runner.platform);
    this.loader = new SessionLoader(options.sessionCache);
    this.#mayCreate = options.autoCreateSession ?? false;
    this.#ttlMs = options.leaseTtlMs ?? DEFAULT_LEASE_TTL_MS;
  }

  /**
   * Locks a session for work other than a run.
   *
   * @throws SessionNotFoundError, SessionBusyError, RunAbortedError
   */
  async lock(request: LockRequest): Promise<SessionLock> {
    const yielding = this.#yield(request);
    if (yielding) await yielding;
    const lease = this.#toLease(request);
    const acquire = async (): Promise<SessionLease> => this.runner.sessionService.acquireLease(lease);
    const acquired = await acquire().catch((error: unknown) => this.#askAgain(acquire, error, request));
    return new SessionLock(this, request, nameOf(request.key), acquired);
  }

  /**
   * Locks a session for a run, reads it, and appends the message if there is one, in one call of the store. If older
   * events cannot be read after that, the failure is stored after the message of a run that is not resumable.
   *
   * @throws SessionNotFoundError, SessionBusyError, UnfinishedRunError, RequestKnownError, RunNotFoundError
   * RunAbortedError, and the errors of `appendEvent` for the message
   */
  begin(request: BeginRequest, hasYielded = false): MaybePromise<BegunSession> {
    const { key, run, window, message, mayCreate = false } = request;
    const name = nameOf(key);
    // A run of this process that holds the session has a later epoch than `lastEpoch`.
    const mayInterrupt = request.onBusy === 'interrupt' && run.lastEpoch === undefined;
    if (mayInterrupt && !hasYielded && this.lockingRuns.has(name))
      return this.#yieldToRun(request).then(() => this.begin(request, true));
    // Fields are named here and not spread, because two spreads in one literal take five times as long as one.
    const { appName, userId, sessionId } = key;
    const { invocationId, requestId, resumable, continues, lastEpoch, webhook } = run;
    const beginning: BeginRunRequest = {
      appName,
      userId,
      sessionId,
      ttlMs: this.#ttlMs,
      onBusy: request.onBusy ?? RUN_CONFIG_DEFAULTS.onBusy,
      waitMs: request.busyWaitMs ?? RUN_CONFIG_DEFAULTS.busyWaitMs,
      abortSignal: request.abortSignal,
      invocationId,
      requestId,
      resumable,
      continues,
      lastEpoch,
      webhook,
      create: this.#mayCreate && mayCreate,
      read: this.loader.firstRead(name, window),
      message,
    };
    let begun: MaybePromise<BegunRun>;
    try {
      begun = this.runner.sessionService.beginRun(beginning);
    } catch (error) {
      begun = Promise.reject(error);
    }
    if (!(begun instanceof Promise)) return this.#load(request, name, begun);
    return begun
      .catch((error: unknown) => this.#beginAgain(request, beginning, error))
      .then((granted) => this.#load(request, name, granted));
  }

  /** Completes the events that were read as the session was locked. */
  #load(request: BeginRequest, name: string, begun: BegunRun): MaybePromise<BegunSession> {
    const { invocationId, requestId, continues, webhook } = request.run;
    const { lease, firstSeq, wasOpen, session } = begun;
    const run = { invocationId, requestId, continues, webhook, lastSeq: session.lastSeq, firstSeq, wasOpen };
    const lock = new SessionLock(this, request, name, lease, run);
    try {
      const loaded = this.loader.load(lock, name, session, request);
      if (loaded instanceof Promise)
        return loaded.then(
          (found) => {
            lock.loaded = found;
            return { lock, loaded: found };
          },
          (error: unknown) => this.#giveBack(request, lock, begun, error),
        );
      lock.loaded = loaded;
      return { lock, loaded };
    } catch (error) {
      return this.#giveBack(request, lock, begun, error);
    }
  }

  /** Interrupts the run of this process that holds the session, unless the request is known and will be refused. */
  async #yieldToRun(request: BeginRequest): Promise<void> {
    const { key, run } = request;
    const { requestId: id } = run;
    const known = id === undefined ? undefined : await this.runner.sessionService.findRun({ ...key, id });
    if (!known || known.invocationId === run.invocationId) await this.#yield(request);
  }

  async #beginAgain(request: BeginRequest, beginning: BeginRunRequest, thrown: unknown): Promise<BegunRun> {
    if (SessionNotFoundError.isInstance(thrown)) throw noSessionError(thrown);
    const { sessionService } = this.runner;
    const { key, run } = request;
    let tries = 1;
    const repeat = async (): Promise<BegunRun> => {
      // This error says that the storage may have the message; the error of the abort would not.
      if (request.abortSignal?.aborted) throw thrown;
      // The session may be locked for this run by an attempt whose answer was lost. No other process begins a new run
      // with this id, so this run may take the session from itself.
      const known = run.continues ? undefined : await sessionService.findRun({ ...key, id: run.invocationId });
      const isOwn = known?.open !== undefined && known.open.attempts <= tries++;
      return sessionService.beginRun(isOwn ? { ...beginning, onBusy: 'interrupt' } : beginning);
    };
    return this.#askAgain(repeat, thrown, request);
  }

  /** Unlocks a session that could not be read. @throws the error */
  async #giveBack(
    { run, lockingRun }: BeginRequest,
    lock: SessionLock,
    { session, message, lease, firstSeq }: BegunRun,
    error: unknown,
  ): Promise<never> {
    if (message) {
      const outcome = run.resumable ? undefined : await this.#storeFailure(session, message, lease, error);
      // A run without an end is continued later, so its client must not get a failure, or the advice to send the
      // message again.
      if (!outcome) lockingRun?.noteBegun({ invocationId: run.invocationId, firstSeq }, lease);
      await lock.unlock({ leaveOpen: !outcome, outcome });
    } else await lock.undo();
    throw error;
  }

  /** Stores the failure of a run. Returns its outcome; undefined if the failure could not be stored. */
  async #storeFailure(
    session: Session,
    message: Event,
    lease: SessionLease,
    thrown: unknown,
  ): Promise<RunOutcome | undefined> {
    const { appName: author, platform, sessionService } = this.runner;
    const { code, publicMessage } = AgentError.around(thrown, 'the run');
    const { invocationId } = message;
    const timestamp = platform.now() / 1000;
    const params = { id: platform.newEventId(), invocationId, executionId: invocationId, author, timestamp };
    try {
      await sessionService.appendEvent({ session, lease, event: createErrorEvent(params, code, publicMessage) });
      return errorOutcome(code);
    } catch (error) {
      reportTo(platform, error);
      return undefined;
    }
  }

  /**
   * Interrupts the run of this process that holds the session. A run of another process notices at its next append that
   * it lost the session.
   */
  #yield({ key, onBusy, purpose }: LockRequest): Promise<void> | undefined {
    if (onBusy !== 'interrupt') return undefined;
    const reason = new StaleWriterError(`the run was interrupted by ${purpose} of its session`);
    return this.lockingRuns.get(nameOf(key))?.yieldSession(reason);
  }

  /**
   * Repeats the lock request while the storage cannot be used: for 10 seconds, the time included that the failed request waited for the
   * storage, and at most for the duration of a lease, because a lost answer may have granted one.
   *
   * @throws the last error
   */
  #askAgain<T>(ask: () => Promise<T>, thrown: unknown, { abortSignal }: LockRequest): Promise<T> {
    const { platform } = this.runner;
    const waitedMs = (StorageError.isInstance(thrown) && thrown.waitedMs) || 0;
    const endMs = platform.now() + Math.min(this.#ttlMs, MAX_OUTAGE_MS - waitedMs);
    return repeatWhileUnavailable(ask, thrown, platform, endMs, abortSignal);
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
  readonly lock: SessionLock;
  readonly loaded: LoadedSession;
}

/** The run that a session is locked for. */
export interface LockedFor extends Pick<BeginRunRequest, 'invocationId' | 'requestId' | 'continues' | 'webhook'> {
  /** Number of events in the session when it was locked, the message included. */
  readonly lastSeq: number;
  /** The session's sequence number of the run's first event. */
  readonly firstSeq: number;
  readonly wasOpen: boolean;
}

/**
 * The lock of one session, and the only way to write to it while it is locked. It ends when the session is unlocked, or
 * its lease is lost.
 *
 * While the storage cannot be used, a read or write is repeated, until the lease expires and is lost or the run is
 * aborted: each can be repeated without a second effect. After that, the last error is thrown.
 */
export class SessionLock implements HeldLease, ToolLedger {
  readonly key: SessionKey;
  readonly lease: SessionLease;
  /** Undefined for a session that is not locked for a run. */
  readonly run: LockedFor | undefined;
  /** The events that the run began with. Cached for the next run when the session is unlocked. */
  loaded: LoadedSession | undefined;
  renewedMs: number;
  index = -1;
  /**
   * The reason why no event can be stored any more: another writer has the session, or the storage could not be used
   * until the lease expired.
   */
  lost: EventloomError | undefined = undefined;
  /** False once the session was unlocked. */
  isLocked = true;
  readonly #locks: SessionLocks;
  readonly #name: string;
  readonly #service: BaseSessionService;
  readonly #lockingRun: LockingRun | undefined;

  constructor(
    locks: SessionLocks,
    { key, lockingRun }: LockRequest,
    name: string,
    lease: SessionLease,
    run?: LockedFor,
  ) {
    this.key = key;
    this.lease = lease;
    this.run = run;
    this.#locks = locks;
    this.#name = name;
    this.#service = locks.runner.sessionService;
    this.#lockingRun = lockingRun;
    this.renewedMs = locks.runner.platform.now();
    locks.keeper.hold(this);
    if (lockingRun) locks.lockingRuns.set(name, lockingRun);
  }

  lose(error: EventloomError): void {
    if (this.lost) return;
    this.lost = error;
    this.#lockingRun?.abort(error);
  }

  get endMs(): number {
    const nowMs = this.#locks.runner.platform.now();
    return (this.#isRenewed(nowMs) ? this.renewedMs : nowMs) + this.lease.ttlMs;
  }

  /** True if the lease has certainly not expired. An agent may set any timestamp on an event, also one in the future. */
  #isRenewed(nowMs: number): boolean {
    return this.renewedMs <= nowMs && this.renewedMs > nowMs - this.lease.ttlMs;
  }

  async checkLease(): Promise<void> {
    if (this.lost) throw this.lost;
    if (this.#isRenewed(this.#locks.runner.platform.now())) return;
    try {
      await this.#whileAway(() => this.#service.renewLease(this.lease));
    } catch (error) {
      if (StaleWriterError.isInstance(error)) this.lose(error);
      throw error;
    }
  }

  /**
   * Appends an event. Returns it as it was stored.
   * @param repeatedState see `AppendEventRequest`
   */
  append(session: Session, event: Event, repeatedState?: ReadonlySet<string>): MaybePromise<Event> {
    const request = { session, event, lease: this.lease, repeatedState };
    // `#whileAway` is not used here, because an append and the record of a call are made for each event.
    try {
      const stored = this.#service.appendEvent(request);
      return stored instanceof Promise ? stored.catch((error: unknown) => this.#appendAgain(request, error)) : stored;
    } catch (error) {
      return this.#appendAgain(request, error);
    }
  }

  #appendAgain(request: AppendEventRequest, error: unknown): Promise<Event> {
    return this.#repeat(() => this.#service.appendEvent(request), error);
  }

  /** Appends several events in one transaction. */
  appendAll(request: Omit<AppendEventsRequest, 'lease'>): MaybePromise<Event[]> {
    const { lease } = this;
    return this.#whileAway(() => this.#service.appendEvents({ ...request, lease }));
  }

  recordToolCall(entry: ToolLedgerEntry): MaybePromise<void> {
    try {
      const recorded = this.#service.recordToolCall(this.lease, entry);
      return recorded instanceof Promise
        ? recorded.catch((error: unknown) => this.#recordAgain(entry, error))
        : recorded;
    } catch (error) {
      return this.#recordAgain(entry, error);
    }
  }

  #recordAgain(entry: ToolLedgerEntry, error: unknown): Promise<void> {
    return this.#repeat(() => this.#service.recordToolCall(this.lease, entry), error);
  }

  listToolCalls(invocationId: string): MaybePromise<ToolLedgerEntry[]> {
    return this.#whileAway(() => this.#service.listToolCalls({ ...this.key, invocationId }));
  }

  /** Reads the session; undefined if it was deleted. */
  read(config: GetSessionConfig | undefined): MaybePromise<Session | undefined> {
    return this.#whileAway(() => this.#service.getSession({ ...this.key, config }));
  }

  #whileAway<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    try {
      const done = work();
      return done instanceof Promise ? done.catch((error: unknown) => this.#repeat(work, error)) : done;
    } catch (error) {
      return this.#repeat(work, error);
    }
  }

  async #repeat<T>(work: () => MaybePromise<T>, thrown: unknown): Promise<T> {
    const run = this.#lockingRun;
    const isAborted = (): boolean => run?.abortReason !== undefined;
    try {
      return await repeatWhileUnavailable(
        work,
        thrown,
        this.#locks.runner.platform,
        this.endMs,
        run?.abortGuard.signal,
        isAborted,
      );
    } catch (error) {
      if (isUnavailable(error) && !isAborted()) this.lose(error);
      throw error;
    }
  }

  /**
   * Records how the run ended and unlocks the session: one call of the store, which appends the last event of the run if there is one.
   * @returns the event as it was stored
   * @throws the error of `endRun`, a StaleWriterError among them if another writer has the session; then nothing is changed
   */
  end(session: Session, outcome: RunOutcome, event?: Event): MaybePromise<Event | undefined> {
    const end = { session, event, outcome };
    try {
      const ended = this.#service.endRun(this.lease, end);
      if (ended instanceof Promise) return this.#endAsync(ended, end);
      this.#release();
      return ended;
    } catch (error) {
      return this.#endAsync(Promise.reject(error), end);
    }
  }

  async #endAsync(ending: Promise<Event | undefined>, end: EndRunRequest): Promise<Event | undefined> {
    const stored = await ending.catch((error: unknown) =>
      this.#repeat(() => this.#service.endRun(this.lease, end), error),
    );
    this.#release();
    return stored;
  }

  /**
   * Unlocks the session for the next run. A second call does nothing, and neither does the call after the lease was
   * lost. While the storage cannot be used, the release is repeated in the background. A failure is reported to the
   * platform: the lease expires by itself.
   *
   * @param options whether the run stays open, how it ended, and ids of runs and requests of which nothing was stored.
   * Default: the run has ended, or there was none
   */
  unlock(options?: ReleaseLeaseOptions): MaybePromise<void> {
    if (!this.isLocked) return;
    this.#release();
    if (this.lost) return;
    try {
      const released = this.#service.releaseLease(this.lease, options);
      if (released instanceof Promise) return released.catch((error: unknown) => this.#releaseLater(options, error));
    } catch (error) {
      this.#releaseLater(options, error);
    }
  }

  #releaseLater(options: ReleaseLeaseOptions | undefined, error: unknown): void {
    const { platform } = this.#locks.runner;
    const release = (): MaybePromise<void> => this.#service.releaseLease(this.lease, options);
    platform.background(repeatWhileUnavailable(release, error, platform, this.endMs));
  }

  /** Unlocks the session as if the run had never begun. A run with stored events stays open. */
  async undo(): Promise<void> {
    const { run, loaded } = this;
    if (!run) return this.unlock();
    const { lastSeq, invocationId, requestId, continues, wasOpen, webhook } = run;
    const { session } = loaded ?? {};
    if (session && session.lastSeq > lastSeq) return this.unlock({ leaveOpen: true });
    const forget = continues ? [] : [invocationId];
    if (requestId !== undefined && !session?.events.some((event) => event.requestId === requestId))
      forget.push(requestId);
    if (webhook) forget.push(webhook.id);
    // An attempt that stored nothing is not counted.
    await this.unlock({ leaveOpen: wasOpen && 'uncounted', forget });
  }

  #release(): void {
    this.isLocked = false;
    const { keeper, lockingRuns, loader } = this.#locks;
    keeper.release(this);
    if (this.#lockingRun && lockingRuns.get(this.#name) === this.#lockingRun) lockingRuns.delete(this.#name);
    if (this.loaded) loader.keep(this.#name, this.loaded);
  }
}

/** Returns the name of a session, unique among those of a runner. Ids contain no NUL. */
function nameOf({ userId, sessionId }: SessionKey): string {
  return `${userId}\0${sessionId}`;
}

/** Returns the error of a run whose session does not exist; its message says how to create the session. */
function noSessionError({ message }: Error): SessionNotFoundError {
  return new SessionNotFoundError(
    `${message}; create it first with sessionService.createSession({ appName, userId, sessionId }), or give the runner autoCreateSession: true`,
  );
}
