import {
  type AcquireLeaseRequest,
  type BaseSessionService,
  type GetSessionConfig,
  type MaybePromise,
  RUN_CONFIG_DEFAULTS,
  sealEvent,
  type Session,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
} from '@eventloom/core';
import { type EventPlaces } from './event-places.ts';
import { lacksSomething } from './lacks-something.ts';
import type { ReadSession } from './history-reader.ts';
import { readBack } from './read-back.ts';
import { type CachedEvents, SessionCache, type SessionCacheOptions } from './session-cache.ts';
import type { LockRequest } from './session-locks.ts';

/** A session as a run works on it. */
export interface LoadedSession {
  readonly session: Session;
  /** What agents compute from the events; see `Invocation.derived`. */
  readonly derived: Map<unknown, unknown>;
  /** Where in the session its events are: undefined for all from the first on; of a window that lacks some, not to be used. */
  readonly places: EventPlaces | undefined;
  /** True when its events are worth keeping: there were some before this run, and all that count are here. */
  isKept: boolean;
  /** What is kept in place of all of them. */
  kept?: Omit<CachedEvents, 'incarnation'>;
}

/** The runner's options that concern sessions. */
export interface SessionLoaderOptions {
  readonly autoCreateSession?: boolean | undefined;
  readonly leaseTtlMs?: number | undefined;
  readonly sessionCache?: SessionCacheOptions | undefined;
}

const DEFAULT_LEASE_TTL_MS = 15_000;
/** What is read first of a session that this process does not know. */
const FIRST_PAGE: GetSessionConfig = { numRecentEvents: 100 };

/** Takes sessions for runs and reads them: of a session that this process knows, only what is new. */
export class SessionLoader {
  readonly #service: BaseSessionService;
  readonly #cache: SessionCache;
  readonly #autoCreate: boolean;
  readonly #ttlMs: number;

  constructor(
    service: BaseSessionService,
    { autoCreateSession = false, leaseTtlMs = DEFAULT_LEASE_TTL_MS, sessionCache }: SessionLoaderOptions,
  ) {
    this.#service = service;
    this.#cache = new SessionCache(sessionCache);
    this.#autoCreate = autoCreateSession;
    this.#ttlMs = leaseTtlMs;
  }

  /** Takes the session's lease. @throws SessionNotFoundError SessionBusyError RunAbortedError */
  acquire({ key, run, onBusy, busyWaitMs, mayCreate = false, abortSignal }: LockRequest): Promise<SessionLease> {
    const request: AcquireLeaseRequest = {
      ...key,
      ...run,
      ttlMs: this.#ttlMs,
      onBusy: onBusy ?? RUN_CONFIG_DEFAULTS.onBusy,
      waitMs: busyWaitMs ?? RUN_CONFIG_DEFAULTS.busyWaitMs,
      abortSignal,
    };
    const lease = this.#service.acquireLease(request);
    return this.#autoCreate && mayCreate ? lease.catch((error: unknown) => this.#create(request, error)) : lease;
  }

  async #create(request: AcquireLeaseRequest, error: unknown): Promise<SessionLease> {
    if (!SessionNotFoundError.isInstance(error)) throw error;
    const { appName, userId, sessionId } = request;
    await this.#service.getOrCreateSession({ appName, userId, sessionId });
    return this.#service.acquireLease(request);
  }

  /**
   * The session with the window of its events that is asked for; without one, with all that counts since its last compaction.
   * The calls with these ids, and the invocation with this one, are among the events if the session has them, however long ago
   * that was.
   * @throws SessionNotFoundError
   */
  load(
    key: SessionKey,
    cacheKey: string,
    window: GetSessionConfig | undefined,
    callIds: readonly string[] = [],
    invocationId?: string,
  ): Promise<LoadedSession> {
    const cached = window ? undefined : this.#cache.take(cacheKey);
    return cached
      ? this.#loadWarm(cached, key, callIds, invocationId)
      : this.#loadCold(key, callIds, invocationId, window);
  }

  async #loadWarm(
    cached: CachedEvents,
    key: SessionKey,
    callIds: readonly string[],
    invocationId: string | undefined,
  ): Promise<LoadedSession> {
    const session = readBy(key, await this.#get(key, { afterSeq: cached.lastSeq }));
    const { events, derived, places, lastSeq, incarnation } = cached;
    if (session.incarnation !== incarnation || session.lastSeq !== lastSeq + session.events.length) {
      return this.#loadCold(key, callIds, invocationId);
    }
    for (const event of session.events) events.push(event);
    const whole = { ...session, events };
    // What counts after a rewind may be before what is kept.
    const isRewound = session.events.some(({ actions }) => actions.rewindBeforeInvocationId !== undefined);
    if (isPartial(whole) && (isRewound || lacksSomething(events, callIds, invocationId)))
      return this.#loadCold(key, callIds, invocationId);
    return { session: whole, derived, places, isKept: true };
  }

  async #loadCold(
    key: SessionKey,
    callIds: readonly string[],
    invocationId?: string,
    window?: GetSessionConfig,
  ): Promise<LoadedSession> {
    const session = readBy(key, await this.#get(key, window ?? FIRST_PAGE));
    const found =
      !window && isPartial(session)
        ? await readBack(session, this.#reader(key, session), callIds, invocationId)
        : { session, places: undefined };
    return { ...found, derived: new Map(), isKept: !window && session.lastSeq > 0 };
  }

  /** Reads more of a session, which may have been deleted and made anew since. */
  #reader(key: SessionKey, { incarnation }: Session): ReadSession {
    return async (config) => {
      const session = readBy(key, await this.#get(key, config));
      return session.incarnation === incarnation ? session : missing(key);
    };
  }

  #get(key: SessionKey, config?: GetSessionConfig): MaybePromise<Session | undefined> {
    return this.#service.getSession({ ...key, config });
  }

  /** Keeps what a run read and appended for the next run. A session's first run keeps nothing: most sessions have no second. */
  keep(cacheKey: string, { session, derived, places, isKept, kept }: LoadedSession): void {
    if (!isKept) return;
    const { incarnation, lastSeq, events } = session;
    this.#cache.put(cacheKey, { incarnation, ...(kept ?? { lastSeq, events, derived, places }) });
  }
}

function missing(key: SessionKey): never {
  throw new SessionNotFoundError(
    `session ${JSON.stringify(key.sessionId)} of user ${JSON.stringify(key.userId)}: does not exist`,
  );
}

function isPartial({ events, lastSeq }: Session): boolean {
  return events.length < lastSeq;
}

/** What was read is shared by all runs that it is kept for, and by the requests made of it. @throws SessionNotFoundError */
function readBy(key: SessionKey, session: Session | undefined): Session {
  if (!session) return missing(key);
  const { events } = session;
  for (const [index, event] of events.entries()) if (!Object.isFrozen(event)) events[index] = sealEvent(event);
  return session;
}
