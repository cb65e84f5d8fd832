import {
  ConfigurationError,
  type Event,
  InvalidRequestError,
  type OpenRun,
  parseEvent,
  type PutRunWebhookRequest,
  type RunRecord,
  type RunWebhook,
  type RunWebhookChange,
  type Session,
  type SessionKey,
  type SessionLease,
  type ToolLedgerEntry,
} from '@eventloom/core';
import { isRecord, KeyedQueue, prefixedKey, sealEvent, toSeconds } from '@eventloom/core/internal';
import {
  type AppendOutcome,
  type BeginOutcome,
  changeWebhook,
  type ClaimOutcome,
  type CreatedSession,
  endLease,
  type EventAppend,
  type EventWindow,
  findRecord,
  isLeaseLive,
  keepLease,
  type LeaseClaim,
  type OpenRunPage,
  putWebhook,
  type RecordChanges,
  recordCancelled,
  refusedAppend,
  type RunClaim,
  type RunEnd,
  type RunWebhookPage,
  selectEvents,
  selectOpenRunPage,
  selectSessionPage,
  selectWebhooks,
  type SessionBackground,
  type SessionCreation,
  type SessionDriver,
  type SessionPage,
  type StoredEventWindow,
  type StoredSession,
  takeLease,
  takeRun,
} from '@eventloom/sessions';
import type { AdkBaseSessionService } from './base-session-service.ts';
import {
  addEvent,
  checkedSession,
  continues,
  createProgramSession,
  noteBegunCalls,
  type ProgramSession,
  stateOf,
  toStored,
  updatedAtMs,
  wrongAnswer,
} from './program-session.ts';

/** Number of sessions without a lock or an open run that a driver remembers. */
const MAX_IDLE = 1000;

/**
 * Stores sessions with the five methods of a program's service. Everything else is in memory: of a session that this
 * process does not know yet, the runs are found in its events.
 */
export class ProgramSessionDriver implements SessionDriver {
  readonly shared = false;
  readonly #service: AdkBaseSessionService;
  readonly #sessions = new Map<string, ProgramSession>();
  /** Work on each session: the calls of a driver are transactions, so they follow each other. */
  readonly #work = new KeyedQueue();
  /** The stored form of the events that the service gave back, by their objects. */
  readonly #sealed: WeakMap<object, Event> = new WeakMap();
  #incarnations = 0;
  /** The highest epoch of all sessions: a session that is created or read again counts from there. */
  #lastEpoch = 0;

  constructor(service: AdkBaseSessionService) {
    this.#service = service;
  }

  createSession(creation: SessionCreation): Promise<CreatedSession | undefined> {
    return this.#work.run(nameOf(creation), async () => {
      if (await this.#read(creation)) return undefined;
      const { incarnation, session } = await this.#create(creation, creation.writes);
      return { incarnation, state: stateOf(session) };
    });
  }

  readSession(key: SessionKey, window: EventWindow): Promise<StoredSession | undefined> {
    return this.#work.run(nameOf(key), async () => {
      const found = await this.#read(key);
      return found && toStored(found, selectEvents(found.events, window));
    });
  }

  readEvents(key: SessionKey, window: EventWindow): Promise<StoredEventWindow | undefined> {
    return this.readSession(key, window);
  }

  readBackground(key: SessionKey): Promise<SessionBackground | undefined> {
    return this.#work.run(nameOf(key), async () => {
      const found = await this.#read(key);
      const calls = [...(found?.toolCalls.values() ?? [])].flatMap((each) => [...each.values()]);
      const kept = { initialState: found?.initialState ?? [], toolCalls: calls };
      return found && { ...toStored(found, []), ...structuredClone(kept) };
    });
  }

  async listSessions(page: SessionPage): Promise<StoredSession[]> {
    const { appName, userId } = page;
    const answer: unknown = await this.#service.listSessions(userId === undefined ? { appName } : { appName, userId });
    if (!isRecord(answer) || !Array.isArray(answer['sessions']))
      throw wrongAnswer('listSessions', answer, '{ sessions: [ … ] }');
    const listed = (answer['sessions'] as readonly Session[]).map((session): StoredSession => {
      const key = { appName, userId: session.userId, sessionId: session.id };
      const { incarnation = '0', events = [] } = this.#sessions.get(nameOf(key)) ?? {};
      return {
        ...key,
        incarnation,
        lastSeq: events.length,
        updatedAtMs: updatedAtMs(session),
        state: stateOf(session),
        events: [],
      };
    });
    return selectSessionPage(listed, page);
  }

  importSession(): never {
    throw new InvalidRequestError(
      'importSession: the session service of the program has no import; write createSession, and appendEvent for each event',
    );
  }

  deleteSession(key: SessionKey): Promise<void> {
    return this.#work.run(nameOf(key), async () => {
      await this.#service.deleteSession(key);
      this.#sessions.delete(nameOf(key));
    });
  }

  appendEvent(append: EventAppend): Promise<AppendOutcome> {
    return this.#work.run(nameOf(append), () => this.#append(append));
  }

  async appendEvents(appends: readonly EventAppend[]): Promise<AppendOutcome[]> {
    const [first] = appends;
    if (!first) return [];
    return this.#work.run(nameOf(first), async () => {
      const outcomes: AppendOutcome[] = [];
      for (const append of appends) {
        const outcome = await this.#append(append);
        if (outcome.status !== 'stored' && outcome.status !== 'duplicate') return [outcome];
        outcomes.push(outcome);
      }
      return outcomes;
    });
  }

  beginRun(claim: RunClaim): Promise<BeginOutcome> {
    return this.#work.run(nameOf(claim), async () => {
      const known = await this.#read(claim);
      let covered = -Infinity;
      for (const { actions } of known?.events ?? [])
        covered = Math.max(covered, actions.compaction?.endTimestamp ?? covered);
      // Planned before the session is created, because an event that cannot be stored throws here.
      const message = claim.message?.(covered);
      const found = known ?? (claim.create ? await this.#create(claim, []) : undefined);
      if (!found) return { status: 'missing' };
      const taken = takeRun(found, found.runs, claim, found.events.length);
      if (taken.status !== 'taken') return taken;
      this.#lastEpoch = Math.max(this.#lastEpoch, taken.lease.epoch);
      const session = toStored(found, selectEvents(found.events, claim.window));
      const duplicate = message && found.eventsById.get(message.event.id);
      if (!message || duplicate) return { ...taken, session, duplicate };
      let kept: Event;
      try {
        kept = await this.#store(found, message);
      } catch (error) {
        const forget = taken.wasOpen ? [] : [claim.invocationId, ...(claim.requestId ? [claim.requestId] : [])];
        endLease(found, found.runs, taken.lease, taken.wasOpen && 'without-attempt', { forget }, found.events.length);
        throw error;
      }
      if (kept === message.event) return { ...taken, session, duplicate };
      return { ...taken, session: toStored(found, selectEvents(found.events, claim.window)), duplicate: kept };
    });
  }

  endRun(end: RunEnd): Promise<AppendOutcome> {
    return this.#work.run(nameOf(end), async () => {
      const outcome = await this.#append(end);
      if (outcome.status === 'stale') {
        const found = this.#sessions.get(nameOf(end));
        const event = found?.eventsById.get(end.event.id);
        return found && event ? { status: 'duplicate', event, lastSeq: found.events.length } : outcome;
      }
      if (outcome.status !== 'missing') this.releaseLease(end.lease, end.keepRunOpen, end);
      return outcome;
    });
  }

  claimLease(claim: LeaseClaim): Promise<ClaimOutcome> {
    return this.#work.run(nameOf(claim), async () => {
      const outcome = takeLease(await this.#read(claim), claim);
      if (outcome.status === 'taken') this.#lastEpoch = Math.max(this.#lastEpoch, outcome.lease.epoch);
      return outcome;
    });
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    return keepLease(this.#sessions.get(nameOf(lease)), lease, nowMs);
  }

  releaseLease(lease: SessionLease, keepRunOpen: RunEnd['keepRunOpen'], changes: RecordChanges = {}): boolean {
    const found = this.#sessions.get(nameOf(lease));
    return endLease(found, found?.runs, lease, keepRunOpen, changes, found?.events.length ?? 0);
  }

  withdrawTicket(): void {}

  findRun(key: SessionKey, id: string): Promise<RunRecord | undefined> {
    return this.#work.run(nameOf(key), async () => {
      const found = await this.#known(key);
      return found && findRecord(found, found.runs, id);
    });
  }

  cancelRequest(key: SessionKey, requestId: string): Promise<RunRecord | undefined> {
    return this.#work.run(nameOf(key), async () => {
      const found = await this.#known(key);
      return found && recordCancelled(found, found.runs, requestId, found.events.length);
    });
  }

  listOpenRuns(page: OpenRunPage): OpenRun[] {
    return selectOpenRunPage(this.#sessionsOf(page.appName), page);
  }

  putRunWebhook(webhook: PutRunWebhookRequest): Promise<boolean> {
    return this.#work.run(nameOf(webhook), async () => {
      const found = await this.#known(webhook);
      return putWebhook(found, found?.runs, webhook);
    });
  }

  listRunWebhooks(page: RunWebhookPage): RunWebhook[] {
    return selectWebhooks(this.#sessionsOf(page.appName), page);
  }

  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): boolean {
    return changeWebhook(this.#sessions.get(nameOf(webhook)), webhook, change);
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): boolean {
    const found = this.#sessions.get(nameOf(lease));
    if (!isLeaseLive(found, lease)) return false;
    const calls = found.toolCalls.get(entry.invocationId) ?? new Map<string, ToolLedgerEntry>();
    found.toolCalls.set(entry.invocationId, calls);
    if (calls.get(entry.entryId)?.status !== 'finished') calls.set(entry.entryId, entry);
    return true;
  }

  listToolCalls(key: SessionKey, invocationId: string): ToolLedgerEntry[] {
    const calls = this.#sessions.get(nameOf(key))?.toolCalls.get(invocationId);
    return calls ? structuredClone([...calls.values()]) : [];
  }

  checkWritable(): void {}

  /** Returns the part of a session that is in memory. Reads the session if nothing of it is in memory. */
  async #known(key: SessionKey): Promise<ProgramSession | undefined> {
    return this.#sessions.get(nameOf(key)) ?? this.#read(key);
  }

  /** Reads the session from the service of the program; forgets a session that is no longer there. */
  async #read({ appName, userId, sessionId }: SessionKey): Promise<ProgramSession | undefined> {
    const key = { appName, userId, sessionId };
    const given = await this.#service.getSession(key);
    if (given === undefined || given === null) {
      this.#sessions.delete(nameOf(key));
      return undefined;
    }
    const session = checkedSession('getSession', given, ', or undefined');
    if (session.id !== sessionId)
      throw new ConfigurationError(
        `getSession: the session service of the program returned the session ${JSON.stringify(session.id)} in place of ${JSON.stringify(sessionId)}; return the session with the id of the request, or undefined`,
      );
    return this.#remember(key, session, !this.#sessions.has(nameOf(key)));
  }

  async #create(
    { appName, userId, sessionId }: SessionKey,
    writes: SessionCreation['writes'],
  ): Promise<ProgramSession> {
    const key = { appName, userId, sessionId };
    const state = Object.fromEntries(writes.map(({ scope, key: name, value }) => [prefixedKey(scope, name), value]));
    const session = checkedSession('createSession', await this.#service.createSession({ ...key, state }));
    if (session.id !== sessionId)
      throw new InvalidRequestError(
        `createSession: the session service of the program gave the session the id ${JSON.stringify(session.id)} in place of ${JSON.stringify(sessionId)}; leave sessionId out, and use the id of the session that createSession returns`,
      );
    return this.#remember(key, session, false);
  }

  #remember(key: SessionKey, session: Session, mayBeReadAgain: boolean): ProgramSession {
    const name = nameOf(key);
    const known = this.#sessions.get(name);
    if (known && (known.leaseUntilMs > 0 || continues(known, session))) {
      known.session = session;
      const given = session.events.slice(known.events.length);
      for (const event of given) addEvent(known, this.#stored(event));
      if (given.length > 0) noteBegunCalls(known, given);
      return known;
    }
    const incarnation = String(++this.#incarnations);
    const events = session.events.map((event) => this.#stored(event));
    const found = createProgramSession(
      { ...key, incarnation, epoch: this.#lastEpoch, mayBeReadAgain, session },
      events,
    );
    this.#sessions.set(name, found);
    this.#forgetIdle(found);
    return found;
  }

  /** Forgets the session that has been known for longest, of those in which no run works or waits. */
  #forgetIdle(except: ProgramSession): void {
    if (this.#sessions.size <= MAX_IDLE) return;
    for (const [name, each] of this.#sessions)
      if (each !== except && each.leaseUntilMs === 0 && !each.openRun && !each.webhooks && !this.#work.has(name)) {
        this.#sessions.delete(name);
        return;
      }
  }

  async #append(append: EventAppend): Promise<AppendOutcome> {
    // A run has read the session, and its service keeps the session object up to date. Another caller has not.
    const found = append.lease ? await this.#known(append) : await this.#read(append);
    if (!found || (found.incarnation !== append.incarnation && !found.mayBeReadAgain)) return { status: 'missing' };
    const refused = refusedAppend(found, append);
    if (refused) return refused;
    const duplicate = found.eventsById.get(append.event.id);
    if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: found.events.length };
    const kept = await this.#store(found, append);
    found.leaseUntilMs = append.lease ? append.nowMs + append.lease.ttlMs : 0;
    if (kept === append.event) return { status: 'stored', seq: found.events.length };
    return { status: 'duplicate', event: kept, lastSeq: found.events.length };
  }

  /**
   * Gives the event to the service of the program: a copy, because services of the ADK change the events that they get,
   * and without the keys that are not to be written again. Returns the event of the session: another one, if the service
   * changed its content.
   */
  async #store(found: ProgramSession, { event, writes }: Pick<EventAppend, 'event' | 'writes'>): Promise<Event> {
    const copy = structuredClone(event);
    const written = new Set(writes.map(({ scope, key }) => prefixedKey(scope, key)));
    for (const key of Object.keys(copy.actions.stateDelta)) if (!written.has(key)) delete copy.actions.stateDelta[key];
    const { removedState } = copy.actions;
    if (removedState) copy.actions.removedState = removedState.filter((key) => written.has(key));
    this.#sealed.set(copy, event);
    const stored = await this.#service.appendEvent({ session: found.session, event: copy });
    const own = found.session.events.at(-1);
    const kept = this.#changedBy(own?.id === event.id ? own : stored, event) ?? event;
    if (typeof stored === 'object' && stored !== null) this.#sealed.set(stored, kept);
    this.#sealed.set(copy, kept);
    found.events.push(kept);
    found.eventsById.set(event.id, kept);
    return kept;
  }

  /** Returns the event that the service stored in place of another one; undefined if their contents are equal. */
  #changedBy(stored: unknown, event: Event): Event | undefined {
    if (!isRecord(stored) || JSON.stringify(stored['content']) === JSON.stringify(event.content)) return undefined;
    return sealEvent(parseEvent({ ...event, content: stored['content'] }));
  }

  /**
   * Returns the frozen form of an event of the service, with its time in seconds.
   * @throws ConfigurationError for a value of another kind
   */
  #stored(event: Event): Event {
    if (!isRecord(event)) throw wrongAnswer('getSession', event, 'events that appendEvent got', 'a session with ');
    const known = this.#sealed.get(event);
    if (known) return known;
    const sealed = sealEvent(parseEvent({ ...event, timestamp: toSeconds(event.timestamp) }));
    this.#sealed.set(event, sealed);
    return sealed;
  }

  *#sessionsOf(appName: string): Generator<ProgramSession> {
    for (const found of this.#sessions.values()) if (found.appName === appName) yield found;
  }
}

function nameOf({ appName, userId, sessionId }: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}
