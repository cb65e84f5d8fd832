import {
  type Event,
  type GetSessionConfig,
  type MaybePromise,
  type Platform,
  type Session,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { DerivedKey, type DerivedValues, sealEvent, weigh, WorkQueue } from '@eventloom/core/internal';
import type { SessionLock } from './session-lock.ts';
import { type HistoryPlaces, needsEarlierEvents, type ReadSession, readBack } from './history-reader.ts';

/** A session as a run uses it. */
export interface LoadedSession {
  readonly session: Session;
  /** Values that agents derived from the events; see `Invocation.derived`. */
  readonly derived: DerivedValues;
  /**
   * Sequence numbers of the events in the session; undefined if it has all events from the first on. Wrong for a window
   * that omits events.
   */
  readonly places: HistoryPlaces | undefined;
  /** True if the events are worth caching: the session had events before this run, and all effective ones are here. */
  isCacheable: boolean;
  /** The number of events of the session that are not here. Another number at the end means that the program changed the list. */
  readonly omitted: number;
  /** The number of events that were cached before the run, and their characters. Default: none. */
  readonly cachedBefore?: { readonly events: number; readonly chars: number };
  /** The entry that is cached in place of all events. */
  cachedInstead?: Omit<CachedEvents, 'incarnation' | 'chars'>;
}

/** The events of a session that a run needs. */
export interface LoadRequest {
  /** The window of events; undefined for all effective events. */
  readonly window?: GetSessionConfig | undefined;
  /** Calls whose events must be among those read. */
  readonly callIds?: readonly string[] | undefined;
  /** The run that is continued: its events must be among those read. */
  readonly resumedId?: string | undefined;
  /** The message that was appended when the run began. */
  readonly message?: Event | undefined;
}

/**
 * The cached part of a session between runs: its events, valid as long as the last cached event is the last stored one.
 */
interface CachedEvents {
  readonly incarnation: string;
  readonly lastSeq: number;
  readonly events: Event[];
  /** Values that agents derived from the events; see `Invocation.derived`. */
  readonly derived: DerivedValues;
  readonly places: HistoryPlaces | undefined;
  /** Number of characters of the events' contents and state changes. */
  readonly chars: number;
}

/** Limits of the events that a runner keeps in memory between runs. */
export interface SessionCacheOptions {
  /** Maximum number of sessions that are kept. Default 1,000. */
  readonly maxSessions?: number;
  /** Maximum number of events of all these sessions together. Default 250,000. */
  readonly maxEvents?: number;
  /** Maximum number of characters of the contents and state changes of all these events. Default 64,000,000. */
  readonly maxChars?: number;
}

/** The window of the first read of a session that this process has not cached. */
const FIRST_PAGE = { numRecentEvents: 100 } as const;
/** The window of the first read of a large session, which is read in parts. */
const NO_EVENTS = { numRecentEvents: 0 } as const;
/** Characters from which a session is large, and bytes of its parts: some 20 ms of work. */
const LARGE_CHARS = 4 * 1024 * 1024;
/** Maximum number of large sessions whose names are remembered. */
const MAX_LARGE = 10_000;

/**
 * Reads the sessions of runs, and caches the events of recent sessions, so that a turn reads only the last of them again, to see that it is
 * still stored: a database may be restored, or replaced by a copy that lacks its last commits. The
 * cache is limited by sessions, events and characters; the least recently used session is dropped first. An entry is taken out
 * while a run uses it.
 */
export class SessionLoader {
  readonly #entries = new Map<string, CachedEvents>();
  readonly #maxSessions: number;
  readonly #maxEvents: number;
  readonly #maxChars: number;
  /** Names of large sessions. One that is not cached is read in parts, because other work would wait for the whole read. */
  readonly #large = new Set<string>();
  readonly #queue: WorkQueue;
  #eventCount = 0;
  #chars = 0;

  constructor(
    platform: Pick<Platform, 'schedule'>,
    { maxSessions = 1000, maxEvents = 250_000, maxChars = 64_000_000 }: SessionCacheOptions = {},
  ) {
    this.#queue = new WorkQueue(platform);
    this.#maxSessions = maxSessions;
    this.#maxEvents = maxEvents;
    this.#maxChars = maxChars;
  }

  /** Returns the window of events to read when a run begins; `load` adds the other effective events. */
  firstRead(name: string, window: GetSessionConfig | undefined): GetSessionConfig {
    if (window) return window;
    const cached = this.#entries.get(name);
    if (cached) return { afterSeq: cached.lastSeq - 1 };
    return this.#large.has(name) ? NO_EVENTS : FIRST_PAGE;
  }

  /**
   * Completes the first read of a session: with a requested window, nothing is added; without one, all effective events since the last
   * compaction. The calls with these ids, and the run with this id, are included if the session has them, however old they are.
   *
   * @param lock repeats reads while the storage cannot be used
   * @param session the session as `firstRead` selected it, with the message at the end if there is one
   * @throws SessionNotFoundError if the session was deleted in the meantime
   */
  load(lock: SessionLock, name: string, session: Session, request: LoadRequest): MaybePromise<LoadedSession> {
    const { window, callIds = [], resumedId, message } = request;
    const cached = this.take(name);
    const known = cached?.incarnation === session.incarnation ? cached.events.at(-1) : undefined;
    // The event that was read again is not frozen again.
    if (known && session.events[0]?.id === known.id) session.events[0] = known;
    seal(session);
    if (window || session.events.length >= session.lastSeq) {
      const isCacheable = !window && session.lastSeq > (message ? 1 : 0);
      return {
        session,
        places: undefined,
        derived: new Map(),
        isCacheable,
        omitted: session.lastSeq - session.events.length,
      };
    }
    return (
      (cached && loadWarm(cached, session, callIds, resumedId)) ??
      this.#loadCold(this.#reader(lock, name, session), session, callIds, resumedId)
    );
  }

  async #loadCold(
    read: ReadSession,
    newest: Session,
    callIds: readonly string[],
    invocationId?: string,
  ): Promise<LoadedSession> {
    // Only a few events were read, because the cache had an entry, which could not be used.
    const session = newest.events.length < FIRST_PAGE.numRecentEvents ? await read(FIRST_PAGE) : newest;
    const isPartial = session.events.length < session.lastSeq;
    const found = isPartial ? await readBack(session, read, callIds, invocationId) : { session, places: undefined };
    const { lastSeq, events } = found.session;
    return { ...found, derived: new Map(), isCacheable: true, omitted: lastSeq - events.length };
  }

  /** Makes a reader of further events of a session, which may have been deleted and created again since. */
  #reader(lock: SessionLock, name: string, { incarnation, lastSeq }: Session): ReadSession {
    const read: ReadSession = async (config) => {
      const session = await lock.read(config);
      return session?.incarnation === incarnation ? seal(session) : missing(lock.key);
    };
    return this.#large.has(name) ? (config) => this.#readParts(lock, lastSeq, read, config) : read;
  }

  /** Reads a window in parts of about 4 MB, the newest events first, with other work in between. */
  async #readParts(
    lock: SessionLock,
    lastSeq: number,
    read: ReadSession,
    config: GetSessionConfig = {},
  ): Promise<Session> {
    const { afterSeq = 0, beforeSeq = Infinity, numRecentEvents = Infinity, afterTimestamp, sinceCompaction } = config;
    // Parts of a window are found by number.
    if (afterTimestamp !== undefined || sinceCompaction) return read(config);
    let end = Math.min(beforeSeq, lastSeq + 1);
    const first = Math.max(afterSeq + 1, end - numRecentEvents);
    const parts: Event[][] = [];
    for (;;) {
      await this.#queue.next();
      const window = { afterSeq: first - 1, beforeSeq: end, numRecentEvents: Math.max(0, end - first) };
      const count = await lock.countWithin(window, LARGE_CHARS);
      if (count === undefined) return read(config);
      const session = await read({ ...window, numRecentEvents: Math.min(count, window.numRecentEvents) });
      parts.push(session.events);
      end -= session.events.length;
      if (end <= first || session.events.length === 0) return { ...session, events: parts.toReversed().flat() };
    }
  }

  /** Takes the cached events of a session out of the cache. */
  take(name: string): CachedEvents | undefined {
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    this.#entries.delete(name);
    this.#eventCount -= entry.events.length;
    this.#chars -= entry.chars;
    return entry;
  }

  /**
   * Caches the events that a run read and appended for the next run, and drops the least recently used sessions if
   * there are too many. Nothing is cached after a session's first run, because most sessions have no second one, and if
   * the program added events to the list of the run or removed some: in the ADK such a change lasts for the run.
   */
  cache(
    name: string,
    { session, derived, places, isCacheable, omitted, cachedBefore, cachedInstead }: LoadedSession,
  ): void {
    if (!isCacheable) return;
    this.take(name);
    if (session.lastSeq - session.events.length !== omitted) return;
    const { incarnation, lastSeq, events } = session;
    const cached = cachedInstead ?? { lastSeq, events, derived, places };
    let { events: index = 0, chars = 0 } = cachedInstead ? {} : (cachedBefore ?? {});
    for (; index < cached.events.length; index++) {
      const event = cached.events[index] as Event;
      // Stored events are frozen, so this is one that the program put into the list.
      if (!Object.isFrozen(event)) return;
      const { content, actions } = event;
      // Other parts are small, or what a tool was given and returned.
      for (const part of content?.parts ?? [])
        chars += part.text?.length ?? part.inlineData?.data?.length ?? JSON.stringify(part).length;
      for (const key in actions.stateDelta) chars += weigh(actions.stateDelta[key]);
    }
    this.#large.delete(name);
    if (chars > LARGE_CHARS) this.#large.add(name);
    if (this.#large.size > MAX_LARGE) this.#large.clear();
    if (cached.events.length > this.#maxEvents || chars > this.#maxChars || this.#maxSessions <= 0) return;
    this.#entries.set(name, { incarnation, ...cached, chars });
    this.#eventCount += cached.events.length;
    this.#chars += chars;
    for (const [oldest] of this.#entries) {
      const hasRoom = this.#eventCount <= this.#maxEvents && this.#chars <= this.#maxChars;
      if (hasRoom && this.#entries.size <= this.#maxSessions) return;
      this.take(oldest);
    }
  }
}

function missing(key: SessionKey): never {
  throw new SessionNotFoundError(
    `session ${JSON.stringify(key.sessionId)} of user ${JSON.stringify(key.userId)}: does not exist`,
  );
}

/**
 * Adds the new events to the cached ones. Undefined if the session was replaced by another one or by an older copy of
 * it, or if earlier events are needed.
 */
function loadWarm(
  cached: CachedEvents,
  session: Session,
  callIds: readonly string[],
  invocationId: string | undefined,
): LoadedSession | undefined {
  const { events, derived, places, lastSeq, incarnation } = cached;
  const cachedBefore = { events: events.length, chars: cached.chars };
  const known = lastSeq - (session.lastSeq - session.events.length);
  // A session that was restored from a copy has lost events, and may have others in their places.
  const isStored = events.length > 0 && session.events[known - 1]?.id === events.at(-1)?.id;
  if (session.incarnation !== incarnation || !isStored) return undefined;
  let isRewound = false;
  for (let index = known; index < session.events.length; index++) {
    const event = session.events[index] as Event;
    events.push(event);
    isRewound ||= event.actions.rewindBeforeInvocationId !== undefined;
  }
  // After a rewind, older events than the cached ones are in effect again.
  const isPartial = events.length < session.lastSeq;
  if (isPartial && (isRewound || needsEarlierEvents(events, callIds, invocationId))) return undefined;
  return {
    session: { ...session, events },
    derived,
    places,
    isCacheable: true,
    omitted: session.lastSeq - events.length,
    cachedBefore,
  };
}

/** Freezes the events that were read: all runs that use the cache share them, and so do the model requests made of them. */
function seal(session: Session): Session {
  const { events } = session;
  for (let index = 0; index < events.length; index++) {
    const event = events[index];
    if (event && !Object.isFrozen(event)) events[index] = sealEvent(event);
  }
  return session;
}

/** The end of the covered time range, found in the first `count` events of a session. */
interface Covered {
  readonly count: number;
  readonly endTimestamp: number;
}

const COVERED_UNTIL = new DerivedKey<Covered>('covered until');

/**
 * Returns the time up to which compactions cover a session, in seconds; -Infinity without one. Reads only the events that were appended
 * since the last call.
 */
export function coveredUntil({ session: { events }, derived }: Pick<LoadedSession, 'session' | 'derived'>): number {
  const found = derived.get(COVERED_UNTIL);
  let endTimestamp = found?.endTimestamp ?? -Infinity;
  for (let index = found?.count ?? 0; index < events.length; index++) {
    const end = events[index]?.actions.compaction?.endTimestamp;
    if (end !== undefined && end > endTimestamp) endTimestamp = end;
  }
  derived.set(COVERED_UNTIL, { count: events.length, endTimestamp });
  return endTimestamp;
}
