import {
  ARTIFACTS_TO_RESTORE,
  type BaseSessionService,
  type EventloomError,
  type GetSessionConfig,
  type LeaveOpen,
  type OnBusy,
  type Platform,
  reportTo,
  type SessionKey,
  type SessionLease,
  StaleWriterError,
} from '@eventloom/core';
import { coveredUntil } from './covered-until.ts';
import { type HeldLease, LeaseKeeper } from './lease-keeper.ts';
import { restoreArtifacts } from './restore-artifacts.ts';
import type { Runner } from './runner.ts';
import { type LoadedSession, SessionLoader, type SessionLoaderOptions } from './session-loader.ts';

/** A run of this process that has a session, as another one that wants it sees it. */
export interface SessionHolder {
  /** Ends the run, after it stored what cannot be said again. */
  yieldSession(reason: EventloomError): Promise<void>;
}

/** How a session is locked. */
export interface LockRequest {
  readonly key: SessionKey;
  /** Named to the run that has to yield the session: `another run`, `a rewind`. */
  readonly purpose: string;
  readonly onBusy: OnBusy | undefined;
  readonly busyWaitMs?: number | undefined;
  /** Whether a session that does not exist may be created, if the runner is configured to. Default false. */
  readonly mayCreate?: boolean | undefined;
  /** The run that the session is locked for; `resumable` when it can continue after its process is gone. Absent for no run. */
  readonly run?: { readonly invocationId: string; readonly resumable: boolean } | undefined;
  /** Gives up waiting. */
  readonly abortSignal?: AbortSignal | undefined;
  /** Called when another writer took the session. */
  readonly onLost: (error: StaleWriterError) => void;
  /** Yields the session when another run of this process interrupts. Absent for what cannot be interrupted. */
  readonly holder?: SessionHolder | undefined;
}

/** Which events of a locked session to read. */
export interface ReadRequest {
  /** Undefined for everything that counts. */
  readonly window?: GetSessionConfig | undefined;
  /** The events with these calls are among what is read. */
  readonly callIds?: readonly string[] | undefined;
  /** The events of this run are among what is read. */
  readonly invocationId?: string | undefined;
}

/** Locks the sessions of one runner, so that each has one writer, and remembers their events between runs. */
export class SessionLocks {
  readonly runner: Runner;
  readonly keeper: LeaseKeeper;
  readonly loader: SessionLoader;
  /** The runs of this process that have a session, by its name. */
  readonly holders: Map<string, SessionHolder> = new Map();

  constructor(runner: Runner, options: SessionLoaderOptions) {
    this.runner = runner;
    this.keeper = new LeaseKeeper(runner.sessionService, runner.platform);
    this.loader = new SessionLoader(runner.sessionService, options);
  }

  /** @throws SessionNotFoundError SessionBusyError RunAbortedError */
  async lock(request: LockRequest): Promise<LockedSession> {
    const { key, onBusy, purpose, holder } = request;
    const name = nameOf(key);
    if (onBusy === 'interrupt') {
      // A run of another process notices at its next append.
      await this.holders
        .get(name)
        ?.yieldSession(new StaleWriterError(`the run was interrupted by ${purpose} of its session`));
    }
    const lease = await this.loader.acquire(request);
    if (holder) this.holders.set(name, holder);
    return new LockedSession(this, request, lease);
  }
}

/** A session that nobody else can write to. */
export class LockedSession {
  readonly key: SessionKey;
  readonly held: HeldLease;
  readonly #locks: SessionLocks;
  readonly #holder: SessionHolder | undefined;
  #loaded: LoadedSession | undefined;
  #isLocked = true;

  constructor(locks: SessionLocks, { key, onLost, holder }: LockRequest, lease: SessionLease) {
    this.key = key;
    this.#locks = locks;
    this.#holder = holder;
    this.held = { lease, renewedMs: this.#platform.now(), onLost };
    locks.keeper.hold(this.held);
  }

  get lease(): SessionLease {
    return this.held.lease;
  }

  get #platform(): Platform {
    return this.#locks.runner.platform;
  }

  /** Reads the session. Does first what a rewind that was interrupted left to do, so that agents see its artifacts as they have to be. */
  async read({ window, callIds, invocationId }: ReadRequest): Promise<LoadedSession> {
    const loaded = await this.#locks.loader.load(this.key, nameOf(this.key), window, callIds, invocationId);
    this.#loaded = loaded;
    const { session, derived } = loaded;
    if (Object.hasOwn(session.state, ARTIFACTS_TO_RESTORE)) {
      const covered = coveredUntil(session.events, derived);
      await restoreArtifacts(this.#locks.runner, { session, lease: this.lease, coveredUntil: covered });
    }
    return loaded;
  }

  /**
   * Lets the next one in. A second call does nothing. A failure is reported to the platform: the lease runs out by itself.
   * @param leaveOpen whether the run that the session was locked for stays open, to be resumed later
   */
  async unlock(leaveOpen: LeaveOpen = false): Promise<void> {
    if (!this.#isLocked) return;
    this.#isLocked = false;
    const { keeper, holders, loader } = this.#locks;
    const name = nameOf(this.key);
    keeper.letGo(this.held);
    if (this.#holder && holders.get(name) === this.#holder) holders.delete(name);
    if (this.#loaded) loader.keep(name, this.#loaded);
    try {
      await this.#service.releaseLease(this.lease, leaveOpen ? { leaveOpen } : undefined);
    } catch (error) {
      reportTo(this.#platform, error);
    }
  }

  get #service(): BaseSessionService {
    return this.#locks.runner.sessionService;
  }
}

/** The name of a session among those of a runner. Ids hold no NUL. */
function nameOf({ userId, sessionId }: SessionKey): string {
  return `${userId}\0${sessionId}`;
}
