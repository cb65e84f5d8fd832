import {
  type AcquireLeaseRequest,
  type BaseSessionService,
  type Event,
  getFunctionCalls,
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
  /** True when its events are worth keeping: there were some before this run, and all that count are here. */
  isKept: boolean;
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

  /**
   * The session with the window of its events that is asked for; without one, with all that counts since its last compaction.
   * The calls with these ids, and the invocation with this one, are among the events if the session has them, however long ago
   * that was.
   * @throws SessionNotFoundError
   */
  async load(
    key: SessionKey,
    cacheKey: string,
    window: GetSessionConfig | undefined,
    callIds: readonly string[] = [],
    invocationId?: string,
  ): Promise<LoadedSession> {
    if (window) return { session: await this.#read(key, window), derived: new Map(), isKept: false };
    const cached = this.#cache.take(cacheKey);
    if (!cached) return this.#loadCold(key, callIds, invocationId);
    const session = await this.#read(key, { afterSeq: cached.lastSeq });
    const { events, derived, lastSeq, incarnation } = cached;
    if (session.incarnation !== incarnation || session.lastSeq !== lastSeq + session.events.length) {
      return this.#loadCold(key, callIds, invocationId);
    }
    for (const event of session.events) events.push(event);
    const whole = { ...session, events };
    if (lacksSomething(whole, session.events, callIds, invocationId))
      return { session: await this.#read(key), derived: new Map(), isKept: true };
    return { session: whole, derived, isKept: true };
  }

  async #loadCold(key: SessionKey, callIds: readonly string[], invocationId?: string): Promise<LoadedSession> {
    let session = await this.#read(key, { sinceCompaction: true });
    if (lacksSomething(session, session.events, callIds, invocationId)) session = await this.#read(key);
    return { session, derived: new Map(), isKept: session.lastSeq > 0 };
  }

  async #read(key: SessionKey, config?: GetSessionConfig): Promise<Session> {
    return sealed((await this.#service.getSession({ ...key, config })) ?? missing(key));
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

/** True when events before the last compaction matter: they have a call that is answered now, or count again after a rewind. */
function lacksSomething(
  { events, lastSeq }: Session,
  added: readonly Event[],
  callIds: readonly string[],
  invocationId: string | undefined,
): boolean {
  if (events.length >= lastSeq) return false;
  // An invocation begins with what the user says.
  const isBegin = (event: Event): boolean => event.author === 'user' && event.invocationId === invocationId;
  if (invocationId !== undefined && !events.some(isBegin)) return true;
  if (added.some((event) => bringsBack(event, events))) return true;
  return callIds.some((id) => !events.some((event) => getFunctionCalls(event).some((call) => call.id === id)));
}

/** True for a rewind to before what was read, or one that undoes a compaction. */
function bringsBack(event: Event, events: readonly Event[]): boolean {
  const target = event.actions.rewindBeforeInvocationId;
  if (target === undefined) return false;
  const first = events.findIndex(({ invocationId }) => invocationId === target);
  // An invocation begins with what the user says: one that begins otherwise began before.
  if (first < 0 || events[first]?.author !== 'user') return true;
  return events.slice(first, events.indexOf(event)).some(({ actions }) => actions.compaction !== undefined);
}

/** What was read is shared by all runs that it is kept for, and by the requests made of it. */
function sealed(session: Session): Session {
  const { events } = session;
  for (const [index, event] of events.entries()) if (!Object.isFrozen(event)) events[index] = sealEvent(event);
  return session;
}
