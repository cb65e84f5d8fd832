import {
  type AcquireLeaseRequest,
  type BaseSessionService,
  type Event,
  type GetSessionConfig,
  RUN_CONFIG_DEFAULTS,
  type RunConfig,
  type Session,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
} from '@eventloom/core';
import type { SessionCache } from './session-cache.ts';

/** Takes sessions for runs and reads them: of a session that this process knows, only what is new. */
export class SessionLoader {
  readonly #service: BaseSessionService;
  readonly #cache: SessionCache;
  readonly #autoCreate: boolean;

  constructor(service: BaseSessionService, cache: SessionCache, autoCreate: boolean) {
    this.#service = service;
    this.#cache = cache;
    this.#autoCreate = autoCreate;
  }

  /** Takes the session for a run. @throws SessionNotFoundError @throws SessionBusyError @throws RunAbortedError */
  async acquire(key: SessionKey, runConfig: RunConfig, abortSignal: AbortSignal | undefined): Promise<SessionLease> {
    const { onBusy = RUN_CONFIG_DEFAULTS.onBusy, busyWaitMs: waitMs = RUN_CONFIG_DEFAULTS.busyWaitMs } = runConfig;
    const request: AcquireLeaseRequest = { ...key, onBusy, waitMs, abortSignal };
    try {
      return await this.#service.acquireLease(request);
    } catch (error) {
      if (!this.#autoCreate || !SessionNotFoundError.isInstance(error)) throw error;
      await this.#service.getOrCreateSession(key);
      return this.#service.acquireLease(request);
    }
  }

  /** The session with all of its events, or with the window that is asked for. @throws SessionNotFoundError */
  async load(key: SessionKey, window: GetSessionConfig | undefined): Promise<Session> {
    if (window) return this.#read(key, window);
    const cached = this.#cache.take(cacheKey(key));
    if (!cached) return this.#read(key, undefined);
    const fresh = await this.#read(key, { afterSeq: cached.lastSeq });
    if (fresh.incarnation !== cached.incarnation || fresh.lastSeq !== cached.lastSeq + fresh.events.length)
      return this.#read(key, undefined);
    const events: Event[] = cached.events;
    for (const event of fresh.events) events.push(event);
    return { ...fresh, events };
  }

  /** Keeps what a run read and appended for the next run. */
  keep(key: SessionKey, session: Session, window: GetSessionConfig | undefined): void {
    if (!window) this.#cache.put(cacheKey(key), session);
  }

  async #read(key: SessionKey, config: GetSessionConfig | undefined): Promise<Session> {
    const session = await this.#service.getSession({ ...key, config });
    if (!session)
      throw new SessionNotFoundError(
        `session ${JSON.stringify(key.sessionId)} of user ${JSON.stringify(key.userId)}: does not exist`,
      );
    return session;
  }
}

/** Ids hold no NUL. */
export function cacheKey(key: SessionKey): string {
  return `${key.userId}\0${key.sessionId}`;
}
