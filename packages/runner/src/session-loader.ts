import {
  type AcquireLeaseRequest,
  type BaseSessionService,
  type GetSessionConfig,
  RUN_CONFIG_DEFAULTS,
  sealEvent,
  type RunConfig,
  type Session,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
} from '@eventloom/core';
import type { SessionCache } from './session-cache.ts';

/** A session as a run works on it. */
export interface LoadedSession {
  readonly session: Session;
  /** What agents compute from the events; see `Invocation.derived`. */
  readonly derived: Map<unknown, unknown>;
  /** True when its events are worth keeping: there were some before this run, and all of them are here. */
  readonly isKept: boolean;
}

/** The runner's options that concern sessions. */
export interface SessionLoaderOptions {
  readonly autoCreateSession?: boolean | undefined;
  readonly leaseTtlMs?: number | undefined;
}

const DEFAULT_LEASE_TTL_MS = 15_000;

/** Takes sessions for runs and reads them: of a session that this process knows, only what is new. */
export class SessionLoader {
  readonly #service: BaseSessionService;
  readonly #cache: SessionCache;
  readonly #autoCreate: boolean;
  readonly #ttlMs: number;

  constructor(
    service: BaseSessionService,
    cache: SessionCache,
    { autoCreateSession = false, leaseTtlMs = DEFAULT_LEASE_TTL_MS }: SessionLoaderOptions,
  ) {
    this.#service = service;
    this.#cache = cache;
    this.#autoCreate = autoCreateSession;
    this.#ttlMs = leaseTtlMs;
  }

  /**
   * Takes the session for a run. One that does not exist is made when the runner is to and the message can begin a session.
   * @throws SessionNotFoundError @throws SessionBusyError @throws RunAbortedError
   */
  acquire(
    key: SessionKey,
    runConfig: RunConfig,
    canBegin: boolean,
    abortSignal: AbortSignal | undefined,
  ): Promise<SessionLease> {
    const { onBusy = RUN_CONFIG_DEFAULTS.onBusy, busyWaitMs: waitMs = RUN_CONFIG_DEFAULTS.busyWaitMs } = runConfig;
    const request: AcquireLeaseRequest = { ...key, ttlMs: this.#ttlMs, onBusy, waitMs, abortSignal };
    const lease = this.#service.acquireLease(request);
    return this.#autoCreate && canBegin ? lease.catch((error: unknown) => this.#create(request, error)) : lease;
  }

  async #create(request: AcquireLeaseRequest, error: unknown): Promise<SessionLease> {
    if (!SessionNotFoundError.isInstance(error)) throw error;
    const { appName, userId, sessionId } = request;
    await this.#service.getOrCreateSession({ appName, userId, sessionId });
    return this.#service.acquireLease(request);
  }

  /** The session with all of its events, or with the window that is asked for. @throws SessionNotFoundError */
  async load(key: SessionKey, cacheKey: string, window: GetSessionConfig | undefined): Promise<LoadedSession> {
    const cached = window ? undefined : this.#cache.take(cacheKey);
    const config = cached ? { afterSeq: cached.lastSeq } : window;
    const session = sealed((await this.#service.getSession({ ...key, config })) ?? missing(key));
    if (!cached) return { session, derived: new Map(), isKept: !window && session.lastSeq > 0 };
    const { events, derived, lastSeq, incarnation } = cached;
    if (session.incarnation !== incarnation || session.lastSeq !== lastSeq + session.events.length) {
      const whole = sealed((await this.#service.getSession({ ...key })) ?? missing(key));
      return { session: whole, derived: new Map(), isKept: true };
    }
    for (const event of session.events) events.push(event);
    return { session: { ...session, events }, derived, isKept: true };
  }

  /** Keeps what a run read and appended for the next run. A session's first run keeps nothing: most sessions have no second. */
  keep(cacheKey: string, { session, derived, isKept }: LoadedSession): void {
    if (!isKept) return;
    const { incarnation, lastSeq, events } = session;
    this.#cache.put(cacheKey, { incarnation, lastSeq, events, derived });
  }
}

function missing(key: SessionKey): never {
  throw new SessionNotFoundError(
    `session ${JSON.stringify(key.sessionId)} of user ${JSON.stringify(key.userId)}: does not exist`,
  );
}

/** What was read is shared by all runs that it is kept for, and by the requests made of it. */
function sealed(session: Session): Session {
  const { events } = session;
  for (const [index, event] of events.entries()) if (!Object.isFrozen(event)) events[index] = sealEvent(event);
  return session;
}
