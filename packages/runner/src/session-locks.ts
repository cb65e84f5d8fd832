import {
  type AcquireLeaseRequest,
  AgentError,
  ARTIFACTS_TO_RESTORE,
  createErrorEvent,
  type Event,
  type EventloomError,
  type LeaveOpen,
  type OnBusy,
  reportTo,
  RUN_CONFIG_DEFAULTS,
  type Session,
  type SessionKey,
  type SessionLease,
  StaleWriterError,
} from '@eventloom/core';
import { coveredUntil } from './covered-until.ts';
import { type HeldLease, LeaseKeeper } from './lease-keeper.ts';
import { restoreArtifacts } from './restore-artifacts.ts';
import type { Runner } from './runner.ts';
import type { SessionCacheOptions } from './session-cache.ts';
import { type LoadedSession, type LoadRequest, SessionLoader } from './session-loader.ts';

/** A run of this process that has a session, as another one that wants it sees it. */
export interface SessionHolder {
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
  /** Called when another writer took the session. */
  readonly onLost: (error: StaleWriterError) => void;
  /** Yields the session when another run of this process interrupts. Absent for what cannot be interrupted. */
  readonly holder?: SessionHolder | undefined;
}

/** A session to be locked for a run, and read. */
export interface BeginRequest extends LockRequest, LoadRequest {
  readonly run: {
    readonly invocationId: string;
    /** Whether the run can be resumed after its process is gone. */
    readonly resumable: boolean;
  };
  /** Whether a session that does not exist may be created, if the runner is configured to. Default false. */
  readonly mayCreate?: boolean | undefined;
  /** Whether the run stays open when the session cannot be read. Default false. */
  readonly leaveOpen?: boolean | undefined;
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
    return new LockedSession(this, request, await this.runner.sessionService.acquireLease(this.#toLease(request)));
  }

  /**
   * Locks a session for a run, reads it, and appends the message if there is one: one call of the store. When older events cannot be read
   * after that, the failure is stored behind the message, unless the run stays open.
   *
   * @throws SessionNotFoundError SessionBusyError RunAbortedError, and what `appendEvent` throws for the message
   */
  async begin(request: BeginRequest): Promise<BegunSession> {
    const { key, run, window, message, mayCreate = false, leaveOpen } = request;
    const name = nameOf(key);
    const yielding = this.#yield(request);
    if (yielding) await yielding;
    const beginning = this.runner.sessionService.beginRun({
      ...this.#toLease(request),
      ...run,
      create: this.#mayCreate && mayCreate,
      read: this.loader.firstRead(name, window),
      message,
    });
    const begun = beginning instanceof Promise ? await beginning : beginning;
    const locked = new LockedSession(this, request, begun.lease);
    try {
      const loading = this.loader.load(key, name, begun.session, request);
      const loaded = loading instanceof Promise ? await loading : loading;
      locked.loaded = loaded;
      return { locked, loaded };
    } catch (error) {
      if (begun.message && !leaveOpen) await this.#storeFailure(begun.session, begun.message, begun.lease, error);
      await locked.unlock(leaveOpen);
      throw error;
    }
  }

  async #storeFailure(session: Session, message: Event, lease: SessionLease, thrown: unknown): Promise<void> {
    const { appName: author, platform, sessionService } = this.runner;
    const { code, publicMessage } = AgentError.around(thrown, 'the run');
    const { invocationId } = message;
    const timestamp = platform.now() / 1000;
    const params = { id: platform.newEventId(), invocationId, executionId: invocationId, author, timestamp };
    try {
      await sessionService.appendEvent({ session, lease, event: createErrorEvent(params, code, publicMessage) });
    } catch (error) {
      reportTo(platform, error);
    }
  }

  /** A run of another process notices at its next append that it lost the session. */
  #yield({ key, onBusy, purpose }: LockRequest): Promise<void> | undefined {
    if (onBusy !== 'interrupt') return undefined;
    const reason = new StaleWriterError(`the run was interrupted by ${purpose} of its session`);
    return this.holders.get(nameOf(key))?.yieldSession(reason);
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

/** A session that nobody else can write to. */
export class LockedSession {
  readonly key: SessionKey;
  readonly held: HeldLease;
  /** Remembered for the next run, when the session is unlocked. */
  loaded: LoadedSession | undefined;
  readonly #locks: SessionLocks;
  readonly #holder: SessionHolder | undefined;
  #isLocked = true;

  constructor(locks: SessionLocks, { key, onLost, holder }: LockRequest, lease: SessionLease) {
    this.key = key;
    this.#locks = locks;
    this.#holder = holder;
    this.held = { lease, renewedMs: locks.runner.platform.now(), onLost };
    locks.keeper.hold(this.held);
    if (holder) locks.holders.set(nameOf(key), holder);
  }

  get lease(): SessionLease {
    return this.held.lease;
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
    await this.#locks.runner.sessionService.endRun(this.lease, { session, event });
    this.#letGo();
  }

  /**
   * Lets the next one in. A second call does nothing. A failure is reported to the platform: the lease runs out by itself.
   * @param leaveOpen whether the run that the session was locked for stays open, to be resumed later
   */
  async unlock(leaveOpen: LeaveOpen = false): Promise<void> {
    if (!this.#isLocked) return;
    this.#letGo();
    const { sessionService, platform } = this.#locks.runner;
    try {
      const released = sessionService.releaseLease(this.lease, leaveOpen ? { leaveOpen } : undefined);
      if (released instanceof Promise) await released;
    } catch (error) {
      reportTo(platform, error);
    }
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
