import {
  type BaseSessionService,
  ConfigurationError,
  type CreateSessionRequest,
  type Event,
  InvalidRequestError,
  type OpenRun,
  parseEvent,
  type Platform,
  type PutRunWebhookRequest,
  type RunRecord,
  type RunWebhook,
  type RunWebhookChange,
  type Session,
  type SessionKey,
  type SessionLease,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  beginsResumableRun,
  Calls,
  describeKind,
  isRecord,
  ledgerCallId,
  openAnswers,
  prefixedKey,
  type RecordedCall,
  sealEvent,
  stateScopeOf,
  toSeconds,
} from '@eventloom/core/internal';
import {
  type AppendOutcome,
  type BeginOutcome,
  changeWebhook,
  type ClaimOutcome,
  type CreatedSession,
  DriverSessionService,
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
  type SessionHold,
  type SessionPage,
  type StateEntry,
  type StoredEventWindow,
  type StoredRun,
  type StoredSession,
  takeLease,
  takeRun,
  type WebhookHold,
} from '@eventloom/sessions';
import type { AdkBaseSessionService } from './base-session-service.ts';

const METHODS = ['createSession', 'getSession', 'listSessions', 'deleteSession', 'appendEvent'] as const;

/** The service for runs over each service of a program, so that runners with the same service of the program also share the service for runs. */
const ADAPTED: WeakMap<object, BaseSessionService> = new WeakMap();

/**
 * Returns the service that runs need: a service of Eventloom as it is, one with the methods of the ADK behind an adapter. Other values are
 * returned too, for the `Runner` to refuse.
 * @param platform of the adapter, if the service has none yet. Default: that of the system
 * @throws ConfigurationError for a service that lacks one of the ADK's methods
 */
export function toRunSessions(
  service: BaseSessionService | AdkBaseSessionService,
  platform?: Platform,
): BaseSessionService {
  if (typeof service !== 'object' || service === null || isRunSessions(service)) return service;
  const missing = METHODS.find((method) => typeof service[method] !== 'function');
  if (missing)
    throw new ConfigurationError(
      `Runner: sessionService: has no method ${missing}; write a class that extends BaseSessionService, or new InMemorySessionService()`,
    );
  const known = ADAPTED.get(service) ?? new ProgramSessionService(service, platform);
  ADAPTED.set(service, known);
  return known;
}

function isRunSessions(service: BaseSessionService | AdkBaseSessionService): service is BaseSessionService {
  return 'beginRun' in service;
}

/** The sessions of a service of a program. */
class ProgramSessionService extends DriverSessionService {
  readonly #service: AdkBaseSessionService;

  constructor(service: AdkBaseSessionService, platform: Platform | undefined) {
    super(new ProgramSessionDriver(service), { platform });
    this.#service = service;
  }

  /** The service of the program chooses the id of a session if the caller gives none. */
  override async createSession(request: CreateSessionRequest): Promise<Session> {
    if (!isRecord(request) || request.sessionId !== undefined) return super.createSession(request);
    const created = checkedSession('createSession', await this.#service.createSession(request));
    const { appName, userId } = created;
    return (await this.getSession({ appName, userId, sessionId: created.id })) ?? created;
  }
}

/** The part of a session in memory: the lock, the runs and the tool calls, and the last read events. */
interface ProgramSession extends SessionKey, SessionHold, WebhookHold {
  readonly incarnation: string;
  /** True if callers may have read the session before, when it got another incarnation: from a listing, or before it was forgotten. */
  readonly mayBeReadAgain: boolean;
  readonly runs: Map<string, Omit<StoredRun, 'id'>>;
  readonly toolCalls: Map<string, Map<string, ToolLedgerEntry>>;
  /** The session's own state at its creation: what it had before its first event, or what no event has set. */
  readonly initialState: readonly StateEntry[];
  /** The object of the program's service, which the service itself keeps up to date. */
  session: Session;
  /** The events of the session. */
  readonly events: Event[];
  /** The events of the session, by their ids. */
  readonly eventsById: Map<string, Event>;
}

/** Number of sessions without a lock or an open run that a driver remembers. */
const MAX_IDLE = 1000;

/**
 * Stores sessions with the five methods of a program's service. Everything else is in memory: of a session that this process does not know yet, the runs are
 * found in its events.
 */
class ProgramSessionDriver implements SessionDriver {
  readonly shared = false;
  readonly #service: AdkBaseSessionService;
  readonly #sessions = new Map<string, ProgramSession>();
  /** The last work on each session: the calls of a driver are transactions, so they follow each other. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** The stored form of the events that the service gave back, by their objects. */
  readonly #sealed: WeakMap<object, Event> = new WeakMap();
  #incarnations = 0;
  #epochs = 0;

  constructor(service: AdkBaseSessionService) {
    this.#service = service;
  }

  createSession(creation: SessionCreation): Promise<CreatedSession | undefined> {
    return this.#inTurn(creation, async () => {
      if (await this.#read(creation)) return undefined;
      const { incarnation, session } = await this.#create(creation, creation.writes);
      return { incarnation, state: stateOf(session) };
    });
  }

  readSession(key: SessionKey, window: EventWindow): Promise<StoredSession | undefined> {
    return this.#inTurn(key, async () => {
      const found = await this.#read(key);
      return found && toStored(found, selectEvents(found.events, window));
    });
  }

  readEvents(key: SessionKey, window: EventWindow): Promise<StoredEventWindow | undefined> {
    return this.readSession(key, window);
  }

  readBackground(key: SessionKey): Promise<SessionBackground | undefined> {
    return this.#inTurn(key, async () => {
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
    return this.#inTurn(key, async () => {
      await this.#service.deleteSession(key);
      this.#sessions.delete(nameOf(key));
    });
  }

  appendEvent(append: EventAppend): Promise<AppendOutcome> {
    return this.#inTurn(append, () => this.#append(append));
  }

  async appendEvents(appends: readonly EventAppend[]): Promise<AppendOutcome[]> {
    const [first] = appends;
    if (!first) return [];
    return this.#inTurn(first, async () => {
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
    return this.#inTurn(claim, async () => {
      const known = await this.#read(claim);
      let covered = -Infinity;
      for (const { actions } of known?.events ?? [])
        covered = Math.max(covered, actions.compaction?.endTimestamp ?? covered);
      // Planned before the session is created, because an event that cannot be stored throws here.
      const message = claim.message?.(covered);
      const found = known ?? (claim.create ? await this.#create(claim, []) : undefined);
      if (!found) return { status: 'missing' };
      const taken = takeRun(found, found.runs, claim, found.events.length, this.#epochs + 1);
      if (taken.status !== 'taken') return taken;
      this.#epochs++;
      const session = toStored(found, selectEvents(found.events, claim.window));
      const duplicate = message && found.eventsById.get(message.event.id);
      if (!message || duplicate) return { ...taken, session, duplicate };
      try {
        await this.#store(found, message);
      } catch (error) {
        const forget = taken.wasOpen ? [] : [claim.invocationId, ...(claim.requestId ? [claim.requestId] : [])];
        endLease(found, found.runs, taken.lease, taken.wasOpen && 'uncounted', { forget }, found.events.length);
        throw error;
      }
      return { ...taken, session, duplicate };
    });
  }

  endRun(end: RunEnd): Promise<AppendOutcome> {
    return this.#inTurn(end, async () => {
      const outcome = await this.#append(end);
      if (outcome.status === 'stale') {
        const found = this.#sessions.get(nameOf(end));
        const event = found?.eventsById.get(end.event.id);
        return found && event ? { status: 'duplicate', event, lastSeq: found.events.length } : outcome;
      }
      if (outcome.status !== 'missing') this.releaseLease(end.lease, end.leaveOpen, end);
      return outcome;
    });
  }

  claimLease(claim: LeaseClaim): Promise<ClaimOutcome> {
    return this.#inTurn(claim, async () => {
      const outcome = takeLease(await this.#read(claim), claim, this.#epochs + 1);
      if (outcome.status === 'taken') this.#epochs++;
      return outcome;
    });
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    return keepLease(this.#sessions.get(nameOf(lease)), lease, nowMs);
  }

  releaseLease(lease: SessionLease, leaveOpen: RunEnd['leaveOpen'], changes: RecordChanges = {}): boolean {
    const found = this.#sessions.get(nameOf(lease));
    return endLease(found, found?.runs, lease, leaveOpen, changes, found?.events.length ?? 0);
  }

  withdrawTicket(): void {}

  findRun(key: SessionKey, id: string): Promise<RunRecord | undefined> {
    return this.#inTurn(key, async () => {
      const found = await this.#known(key);
      return found && findRecord(found, found.runs, id);
    });
  }

  listOpenRuns(page: OpenRunPage): OpenRun[] {
    return selectOpenRunPage(this.#sessionsOf(page.appName), page);
  }

  putRunWebhook(webhook: PutRunWebhookRequest): Promise<boolean> {
    return this.#inTurn(webhook, async () => {
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
    if (calls.get(entry.callId)?.status !== 'finished') calls.set(entry.callId, entry);
    return true;
  }

  listToolCalls(key: SessionKey, invocationId: string): ToolLedgerEntry[] {
    const calls = this.#sessions.get(nameOf(key))?.toolCalls.get(invocationId);
    return calls ? structuredClone([...calls.values()]) : [];
  }

  checkWritable(): void {}

  /** Runs the work after all earlier work on the session. */
  #inTurn<T>(key: SessionKey, work: () => Promise<T>): Promise<T> {
    const name = nameOf(key);
    const done = (this.#queues.get(name) ?? Promise.resolve()).then(work, work);
    this.#queues.set(name, done);
    const leave = (): void => {
      if (this.#queues.get(name) === done) this.#queues.delete(name);
    };
    done.then(leave, leave);
    return done;
  }

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
      for (const event of given) this.#add(known, this.#stored(event));
      if (given.length > 0) noteBegunCalls(known, given);
      return known;
    }
    const incarnation = String(++this.#incarnations);
    const events = session.events.map((event) => this.#stored(event));
    const found: ProgramSession = {
      ...key,
      mayBeReadAgain,
      epoch: 0,
      leaseUntilMs: 0,
      runs: new Map(),
      toolCalls: new Map(),
      initialState: initialStateOf(session, events),
      incarnation,
      session,
      events: [],
      eventsById: new Map(),
    };
    for (const event of events) this.#add(found, event);
    noteLostRun(found, noteBegunCalls(found, session.events));
    this.#sessions.set(name, found);
    this.#forgetIdle(found);
    return found;
  }

  /** Adds an event of the service, and its run if it is the first event of one. */
  #add(found: ProgramSession, event: Event): void {
    const { invocationId } = event;
    const firstSeq = found.events.push(event);
    found.eventsById.set(event.id, event);
    if (invocationId && !found.runs.has(invocationId)) found.runs.set(invocationId, { invocationId, firstSeq });
  }

  /** Forgets the session that has been known for longest, of those in which no run works or waits. */
  #forgetIdle(except: ProgramSession): void {
    if (this.#sessions.size <= MAX_IDLE) return;
    for (const [name, each] of this.#sessions)
      if (each !== except && each.leaseUntilMs === 0 && !each.openRun && !each.webhooks && !this.#queues.has(name)) {
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
    await this.#store(found, append);
    found.leaseUntilMs = append.lease ? append.nowMs + append.lease.ttlMs : 0;
    return { status: 'stored', seq: found.events.length };
  }

  /**
   * Gives the event to the service of the program: a copy, because services of the ADK change the events that they get, and without the keys that
   * are not to be written again.
   */
  async #store(found: ProgramSession, { event, writes }: Pick<EventAppend, 'event' | 'writes'>): Promise<void> {
    const copy = structuredClone(event);
    const written = new Set(writes.map(({ scope, key }) => prefixedKey(scope, key)));
    for (const key of Object.keys(copy.actions.stateDelta)) if (!written.has(key)) delete copy.actions.stateDelta[key];
    const { removedState } = copy.actions;
    if (removedState) copy.actions.removedState = removedState.filter((key) => written.has(key));
    this.#sealed.set(copy, event);
    const stored = await this.#service.appendEvent({ session: found.session, event: copy });
    if (typeof stored === 'object' && stored !== null) this.#sealed.set(stored, event);
    found.events.push(event);
    found.eventsById.set(event.id, event);
  }

  /** Returns the frozen form of an event of the service, with its time in seconds. @throws ConfigurationError for a value of another kind */
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

/** True unless the session was deleted and created again, or lost events, since it was read. */
function continues({ events }: ProgramSession, session: Session): boolean {
  return events.length === 0 || session.events[events.length - 1]?.id === events.at(-1)?.id;
}

/**
 * Records the calls without a result among events of another process as started: only the lost process knew whether their tools ran, so a resumed
 * run does not run them again unless they are idempotent.
 */
function noteBegunCalls({ events, toolCalls }: ProgramSession, given: readonly Event[]): Calls {
  const calls = new Calls(events);
  const from = events.length - given.length;
  const note = ({ invocationId, id }: Pick<Event, 'invocationId' | 'id'>, { call }: RecordedCall): void => {
    const callId = ledgerCallId(id, call);
    const ofRun = toolCalls.get(invocationId) ?? new Map<string, ToolLedgerEntry>();
    toolCalls.set(invocationId, ofRun);
    if (!ofRun.has(callId)) ofRun.set(callId, { invocationId, callId, name: call.name ?? '', status: 'started' });
  };
  for (const call of calls.all) {
    if (call.responses.length === 0 && call.eventIndex >= from) note(call.event, call);
    // A call that a person was asked about is recorded in the run of the answer.
    for (const { event, eventIndex } of openAnswers(call)) if (eventIndex >= from) note(event, call);
  }
  return calls;
}

/** Opens the last run if its process was lost while its tools ran, and nothing else can tell: the next run closes it. */
function noteLostRun(found: ProgramSession, calls: Calls): void {
  const last = found.events.findLast(({ invocationId }) => invocationId !== '');
  if (!last) return;
  const { invocationId } = last;
  const first = found.events.find((event) => event.invocationId === invocationId);
  if (!first || beginsResumableRun(first)) return;
  if (calls.open(invocationId).some(({ isLongRunning, isImported }) => !isLongRunning && !isImported))
    found.openRun = { invocationId, resumable: false, attempts: 1 };
}

function initialStateOf(session: Session, events: readonly Event[]): StateEntry[] {
  const set = new Set(events.flatMap(({ actions }) => Object.keys(actions.stateDelta)));
  return stateOf(session).filter(({ scope, key }) => scope === 'session' && !set.has(key));
}

function toStored({ incarnation, session, events, ...key }: ProgramSession, selected: Event[]): StoredSession {
  const { appName, userId, sessionId } = key;
  return {
    appName,
    userId,
    sessionId,
    incarnation,
    lastSeq: events.length,
    updatedAtMs: updatedAtMs(session),
    state: stateOf(session),
    events: selected,
  };
}

/** Returns the time of the last update. Services of the ADK write milliseconds. */
function updatedAtMs({ lastUpdateTime }: Session): number {
  // The object is the program's, so the field may be absent.
  return Number.isFinite(lastUpdateTime) ? toSeconds(lastUpdateTime) * 1000 : 0;
}

/** Returns a session of the program's service. @throws ConfigurationError that names the method, for a value that is none */
function checkedSession(method: string, session: Session, others = ''): Session {
  const given: unknown = session;
  if (isRecord(given) && typeof given['id'] === 'string' && Array.isArray(given['events']) && isRecord(given['state']))
    return session;
  throw wrongAnswer(method, given, `createSession({ id, appName, userId, state, events }) of eventloom/adk${others}`);
}

function wrongAnswer(method: string, given: unknown, write: string, around = ''): ConfigurationError {
  const what = isRecord(given) ? `an object with ${Object.keys(given).join(', ') || 'no fields'}` : describeKind(given);
  return new ConfigurationError(
    `${method}: the session service of the program returned ${around}${what}; return ${write}`,
  );
}

/** Returns copies of the stored values: the session belongs to the program. */
function stateOf({ state }: Session): StateEntry[] {
  return Object.entries(state).flatMap(([name, value]) => {
    const scope = stateScopeOf(name);
    if (scope === 'temp') return [];
    const key = scope === 'session' ? name : name.slice(scope.length + 1);
    return [{ scope, key, value: cloneValue(name, value) }];
  });
}

/** @throws ConfigurationError for a value that cannot be copied, such as a function */
function cloneValue(name: string, value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch (cause) {
    throw new ConfigurationError(
      `getSession: the state of the program's session service has ${describeKind(value)} that cannot be copied at ${JSON.stringify(name)}; write JSON values into the state`,
      { cause },
    );
  }
}
