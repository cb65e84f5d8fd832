import {
  type AcquireLeaseRequest,
  AgentError,
  type BeginRunRequest,
  type BegunRun,
  type Event,
  type MaybePromise,
  type OnBusy,
  type RunOutcome,
  type RunRecord,
  type Session,
  type SessionKey,
  type SessionLease,
  StaleWriterError,
  SessionNotFoundError,
  StorageError,
} from '@eventloom/core';
import {
  createErrorEvent,
  errorOutcome,
  MAX_OUTAGE_MS,
  repeatWhileUnavailable,
  reportTo,
  RUN_CONFIG_DEFAULTS,
} from '@eventloom/core/internal';
import { LeaseKeeper } from './lease-keeper.ts';
import type { Runner } from './runner.ts';
import { type LoadedSession, type LoadRequest, type SessionCacheOptions, SessionLoader } from './session-loader.ts';
import { type LockedFor, type SessionHolder, SessionLock } from './session-lock.ts';

/** A request to lock a session. */
export interface LockRequest {
  readonly key: SessionKey;
  /** The reason for which a run that holds the session is interrupted: `by another run of its session`. */
  readonly why: string;
  readonly onBusy: OnBusy | undefined;
  readonly busyWaitMs?: number | undefined;
  /** Ends the wait for the lock. */
  readonly abortSignal?: AbortSignal | undefined;
  /**
   * The run that yields the session when another run of this process interrupts it, and that is aborted when the lease
   * is lost. Absent for work that cannot be interrupted.
   */
  readonly holder?: SessionHolder | undefined;
}

/** A request to lock a session for a run, and to read it. */
interface BeginRequest extends LockRequest, Omit<LoadRequest, 'resumedId'> {
  readonly run: Pick<
    BeginRunRequest,
    'invocationId' | 'requestId' | 'resumable' | 'continues' | 'lastEpoch' | 'webhook'
  >;
  /** True to create a missing session if the runner is configured to. Default false. */
  readonly mayCreate?: boolean | undefined;
  /** Checks, before a run of this process is interrupted, that this one can begin. Rejects if it cannot. */
  readonly checkBegin?: (() => Promise<void>) | undefined;
  /** True to close the run: another run of this process is not interrupted. Default false. */
  readonly closes?: boolean | undefined;
}

/** A session that is locked for a run, and its events. */
export interface BegunSession {
  readonly lock: SessionLock;
  /** The run that it is locked for. */
  readonly run: LockedFor;
  readonly loaded: LoadedSession;
}

/** The runner's options that concern sessions. */
interface SessionLocksOptions {
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
  /** The locks of the runs of this process, by the name of the session. */
  readonly held: Map<string, SessionLock> = new Map();
  readonly #mayCreate: boolean;
  /** Duration of a lease, in milliseconds. */
  readonly ttlMs: number;

  constructor(runner: Runner, options: SessionLocksOptions) {
    this.runner = runner;
    this.keeper = new LeaseKeeper(runner.sessionService, runner.platform);
    this.loader = new SessionLoader(runner.platform, options.sessionCache);
    this.#mayCreate = options.autoCreateSession ?? false;
    this.ttlMs = options.leaseTtlMs ?? DEFAULT_LEASE_TTL_MS;
  }

  /**
   * Locks a session for work other than a run.
   *
   * @throws SessionNotFoundError, SessionBusyError, RunAbortedError
   */
  async lock(request: LockRequest): Promise<SessionLock> {
    const interrupting = this.#interruptHolder(request, false);
    if (interrupting) await interrupting;
    const lease = this.#toLease(request);
    const acquire = async (): Promise<SessionLease> => this.runner.sessionService.acquireLease(lease);
    const acquired = await acquire().catch((error: unknown) => this.#retry(acquire, error, request));
    return new SessionLock(this, request, nameOf(request.key), acquired);
  }

  /**
   * Locks a session for a run, reads it, and appends the message if there is one, in one call of the store. If older
   * events cannot be read after that, the failure is stored after the message of a run that is not resumable.
   *
   * @throws SessionNotFoundError, SessionBusyError, UnfinishedRunError, RequestKnownError, RunNotFoundError
   * RunAbortedError, and the errors of `appendEvent` for the message
   */
  begin(request: BeginRequest, hasInterrupted = false): MaybePromise<BegunSession> {
    const { key, run, window, message, mayCreate = false } = request;
    const name = nameOf(key);
    // A run of this process that holds the session has a later epoch than `lastEpoch`.
    const mayInterrupt = request.onBusy === 'interrupt' && run.lastEpoch === undefined && !hasInterrupted;
    const held = mayInterrupt ? this.held.get(name) : undefined;
    if (held && (request.closes !== true || held.run?.invocationId === run.invocationId))
      return this.#interruptUnlessKnown(request).then(() => this.begin(request, true));
    // Fields are named here and not spread, because two spreads in one literal take five times as long as one.
    const { appName, userId, sessionId } = key;
    const { invocationId, requestId, resumable, continues, lastEpoch, webhook } = run;
    const beginning: BeginRunRequest = {
      appName,
      userId,
      sessionId,
      ttlMs: this.ttlMs,
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
      .catch((error: unknown) => this.#retryBegin(request, beginning, error))
      .then((granted) => this.#load(request, name, granted));
  }

  /** Completes the events that were read as the session was locked. */
  #load(request: BeginRequest, name: string, begun: BegunRun): MaybePromise<BegunSession> {
    const { invocationId, requestId, continues, webhook } = request.run;
    const { lease, firstSeq, wasOpen, session } = begun;
    const run = { invocationId, requestId, continues, webhook, lastSeq: session.lastSeq, firstSeq, wasOpen };
    const lock = new SessionLock(this, request, name, lease, run);
    try {
      const loaded = this.loader.load(lock, name, session, {
        window: request.window,
        callIds: request.callIds,
        message: request.message,
        resumedId: continues ? invocationId : undefined,
      });
      if (loaded instanceof Promise)
        return loaded.then(
          (found) => {
            lock.loaded = found;
            return { lock, run, loaded: found };
          },
          (error: unknown) => this.#unlockUnread(request, lock, begun, error),
        );
      lock.loaded = loaded;
      return { lock, run, loaded };
    } catch (error) {
      return this.#unlockUnread(request, lock, begun, error);
    }
  }

  /** Interrupts the run of this process that holds the session, unless the request is known and will be refused. */
  async #interruptUnlessKnown(request: BeginRequest): Promise<void> {
    const { key, run } = request;
    const { requestId: id } = run;
    const find = async (): Promise<RunRecord | undefined> =>
      id === undefined ? undefined : this.runner.sessionService.findRun({ ...key, id });
    const known = await this.readAhead(find, request);
    if (known && known.invocationId !== run.invocationId) return;
    await request.checkBegin?.();
    await this.#interruptHolder(request, !run.continues);
  }

  /** Reads from the store before the session is locked; repeats that while the storage cannot be used. @throws the last error */
  readAhead<T>(read: () => Promise<T>, request: Pick<LockRequest, 'abortSignal'>): Promise<T> {
    return read().catch((error: unknown) => this.#retry(read, error, request));
  }

  async #retryBegin(request: BeginRequest, beginning: BeginRunRequest, thrown: unknown): Promise<BegunRun> {
    if (SessionNotFoundError.isInstance(thrown)) throw this.#mayCreate ? thrown : noSessionError(thrown);
    const { sessionService } = this.runner;
    const { key, run } = request;
    let tries = 1;
    const repeat = async (): Promise<BegunRun> => {
      // This error says that the storage may have the message; the error of the abort would not.
      if (request.abortSignal?.aborted) throw thrown;
      // The session may be locked for this run by an attempt whose result was lost. No other process begins a new run
      // with this id, so this run may take the session from itself.
      const known = run.continues ? undefined : await sessionService.findRun({ ...key, id: run.invocationId });
      const isOwn = known?.open !== undefined && known.open.attempts <= tries++;
      return sessionService.beginRun(isOwn ? { ...beginning, onBusy: 'interrupt' } : beginning);
    };
    return this.#retry(repeat, thrown, request);
  }

  /** Unlocks a session that could not be read. @throws the error */
  async #unlockUnread(
    { run, holder }: BeginRequest,
    lock: SessionLock,
    { session, message, lease, firstSeq }: BegunRun,
    error: unknown,
  ): Promise<never> {
    if (message) {
      const outcome = run.resumable ? undefined : await this.#storeReadFailure(session, message, lease, error);
      // A run without an end is continued later, so its client must not get a failure, or the advice to send the
      // message again.
      if (!outcome) holder?.noteBegun({ invocationId: run.invocationId, firstSeq }, lease);
      await lock.unlock({ keepRunOpen: !outcome, outcome });
    } else await lock.withdraw();
    throw error;
  }

  /** Stores the failure of a run whose session could not be read. Returns its outcome; undefined if the failure could not be stored. */
  async #storeReadFailure(
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
  #interruptHolder({ key, onBusy, why }: LockRequest, storesEnd: boolean): Promise<void> | undefined {
    if (onBusy !== 'interrupt') return undefined;
    const reason = new StaleWriterError(`the run was interrupted ${why}`);
    return this.held.get(nameOf(key))?.interrupt(reason, storesEnd);
  }

  /**
   * Repeats the lock request while the storage cannot be used: for 10 seconds, the time included that the failed request waited for the
   * storage, and at most for the duration of a lease, because a lost result may have granted one.
   *
   * @throws the last error
   */
  #retry<T>(ask: () => Promise<T>, thrown: unknown, { abortSignal }: Pick<LockRequest, 'abortSignal'>): Promise<T> {
    const { platform } = this.runner;
    const waitedMs = (StorageError.isInstance(thrown) && thrown.waitedMs) || 0;
    const endMs = platform.now() + Math.min(this.ttlMs, MAX_OUTAGE_MS - waitedMs);
    return repeatWhileUnavailable(ask, thrown, platform, endMs, abortSignal);
  }

  #toLease({ key, onBusy, busyWaitMs, abortSignal }: LockRequest): AcquireLeaseRequest {
    return {
      ...key,
      ttlMs: this.ttlMs,
      onBusy: onBusy ?? RUN_CONFIG_DEFAULTS.onBusy,
      waitMs: busyWaitMs ?? RUN_CONFIG_DEFAULTS.busyWaitMs,
      abortSignal,
    };
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
