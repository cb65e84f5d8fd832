import {
  type AppendEventRequest,
  type AppendEventsRequest,
  type BaseSessionService,
  type BeginRunRequest,
  type EndRunRequest,
  type Event,
  type EventloomError,
  type GetSessionConfig,
  type MaybePromise,
  type ReleaseLeaseOptions,
  type RunOutcome,
  type RunRecord,
  type Session,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
  StaleWriterError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  type AbortGuard,
  isUnavailable,
  repeatWhileUnavailable,
  type ToolLedger,
  within,
} from '@eventloom/core/internal';
import type { HeldLease } from './lease-keeper.ts';
import type { LoadedSession } from './session-loader.ts';
import type { LockRequest, SessionLocks } from './session-locks.ts';

/** A run that has locked a session, as the lock sees it. */
export interface SessionHolder {
  /** The abort of the run, which ends it at once. */
  readonly abort: {
    readonly guard: AbortGuard;
    readonly reason: EventloomError | undefined;
    fire(reason: EventloomError): void;
  };
  /**
   * Ends the run, because something else takes its session.
   * @param storesEnd true lets the run store its end, if it can
   * @returns true if the run is about to store its end, and then unlocks the session
   */
  yieldSession(reason: EventloomError, storesEnd: boolean): Promise<boolean>;
  /** Notes that the run has begun: its message is stored. */
  noteBegun(run: Pick<RunRecord, 'invocationId' | 'firstSeq'>, lease: SessionLease): void;
}

/** True if another writer has the session, or the session was deleted: nothing is to be stored any more. */
export function isSessionLost(error: unknown): boolean {
  return StaleWriterError.isInstance(error) || SessionNotFoundError.isInstance(error);
}

/** Maximum time that another run waits for the end of the run that it interrupts, in milliseconds. */
const UNLOCK_MS = 1000;

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
  readonly #holder: SessionHolder | undefined;
  /** The wait of another run for the end of this one. */
  #unlocking: PromiseWithResolvers<void> | undefined;

  constructor(locks: SessionLocks, { key, holder }: LockRequest, name: string, lease: SessionLease, run?: LockedFor) {
    this.key = key;
    this.lease = lease;
    this.run = run;
    this.#locks = locks;
    this.#name = name;
    this.#service = locks.runner.sessionService;
    this.#holder = holder;
    this.renewedMs = locks.runner.platform.now();
    locks.keeper.hold(this);
    if (holder) locks.held.set(name, this);
  }

  lose(error: EventloomError): void {
    if (this.lost) return;
    this.lost = error;
    this.#holder?.abort.fire(error);
  }

  /**
   * Ends the run that holds the session. Resolves when the run has stored what it may still store. What it leaves is
   * closed by the run that takes the session.
   * @param storesEnd see `SessionHolder.yieldSession`
   */
  async interrupt(reason: EventloomError, storesEnd: boolean): Promise<void> {
    const endsInSession = await this.#holder?.yieldSession(reason, storesEnd);
    if (!endsInSession || !this.isLocked) return;
    this.#unlocking ??= Promise.withResolvers();
    await within(this.#locks.runner.platform, this.#unlocking.promise, UNLOCK_MS);
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
      await this.#withRetries(() => this.#service.renewLease(this.lease));
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
    // `#withRetries` is not used here, because an append and the record of a call are made for each event.
    try {
      const stored = this.#service.appendEvent(request);
      return stored instanceof Promise ? stored.catch((error: unknown) => this.#retryAppend(request, error)) : stored;
    } catch (error) {
      return this.#retryAppend(request, error);
    }
  }

  #retryAppend(request: AppendEventRequest, error: unknown): Promise<Event> {
    return this.#retry(() => this.#service.appendEvent(request), error);
  }

  /** Appends several events in one transaction. */
  appendAll(request: Omit<AppendEventsRequest, 'lease'>): MaybePromise<Event[]> {
    const { lease } = this;
    return this.#withRetries(() => this.#service.appendEvents({ ...request, lease }));
  }

  recordToolCall(entry: ToolLedgerEntry): MaybePromise<void> {
    try {
      const recorded = this.#service.recordToolCall(this.lease, entry);
      return recorded instanceof Promise
        ? recorded.catch((error: unknown) => this.#retryRecord(entry, error))
        : recorded;
    } catch (error) {
      return this.#retryRecord(entry, error);
    }
  }

  #retryRecord(entry: ToolLedgerEntry, error: unknown): Promise<void> {
    return this.#retry(() => this.#service.recordToolCall(this.lease, entry), error);
  }

  listToolCalls(invocationId: string): MaybePromise<ToolLedgerEntry[]> {
    return this.#withRetries(() => this.#service.listToolCalls({ ...this.key, invocationId }));
  }

  /** Reads the session; undefined if it was deleted. */
  read(config: GetSessionConfig | undefined): MaybePromise<Session | undefined> {
    return this.#withRetries(() => this.#service.getSession({ ...this.key, config, lease: this.lease }));
  }

  /** Counts events to read at once, as `countWithin` of the session service does. Undefined if the service has all events in memory. */
  countWithin(config: GetSessionConfig, maxBytes: number): MaybePromise<number | undefined> {
    return this.#withRetries(() => this.#service.countWithin?.({ ...this.key, config }, maxBytes));
  }

  /** Does work, and repeats it while the storage cannot be used. */
  #withRetries<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    try {
      const done = work();
      return done instanceof Promise ? done.catch((error: unknown) => this.#retry(work, error)) : done;
    } catch (error) {
      return this.#retry(work, error);
    }
  }

  async #retry<T>(work: () => MaybePromise<T>, thrown: unknown): Promise<T> {
    const abort = this.#holder?.abort;
    const isAborted = (): boolean => abort?.reason !== undefined;
    try {
      return await repeatWhileUnavailable(
        work,
        thrown,
        this.#locks.runner.platform,
        this.endMs,
        abort?.guard.signal,
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
      this.#retry(() => this.#service.endRun(this.lease, end), error),
    );
    this.#release();
    return stored;
  }

  /**
   * Unlocks the session for the next run. A second call does nothing. After the lease was lost, only this process
   * forgets the lock: the store is not called. While the storage cannot be used, the release is repeated in the
   * background. A failure is reported to the platform: the lease expires by itself.
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
      if (released instanceof Promise) return released.catch((error: unknown) => this.#retryRelease(options, error));
    } catch (error) {
      this.#retryRelease(options, error);
    }
  }

  #retryRelease(options: ReleaseLeaseOptions | undefined, error: unknown): void {
    const { platform } = this.#locks.runner;
    const release = (): MaybePromise<void> => this.#service.releaseLease(this.lease, options);
    platform.background(repeatWhileUnavailable(release, error, platform, this.endMs));
  }

  /** Withdraws the run: unlocks the session as if the run had never begun. A run with stored events stays open. */
  async withdraw(): Promise<void> {
    const { run, loaded } = this;
    if (!run) return this.unlock();
    const { lastSeq, invocationId, requestId, continues, wasOpen, webhook } = run;
    const { session } = loaded ?? {};
    if (session && session.lastSeq > lastSeq) return this.unlock({ keepRunOpen: true });
    const forget = continues ? [] : [invocationId];
    if (requestId !== undefined && !session?.events.some((event) => event.requestId === requestId))
      forget.push(requestId);
    if (webhook) forget.push(webhook.id);
    // A new run that was open already began in a call whose answer was lost. An attempt that stored nothing is not counted.
    await this.unlock({ keepRunOpen: continues && wasOpen && 'without-attempt', forget });
  }

  #release(): void {
    this.isLocked = false;
    const { keeper, held, loader } = this.#locks;
    keeper.release(this);
    if (this.#holder && held.get(this.#name) === this) held.delete(this.#name);
    if (this.loaded) loader.cache(this.#name, this.loaded);
    this.#unlocking?.resolve();
  }
}
