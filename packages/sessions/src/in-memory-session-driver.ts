import type { Event, SessionKey, SessionLease, StateWrite, ToolLedgerEntry } from '@eventloom/core';
import type {
  AppendOutcome,
  ClaimOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  LeaseClaim,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  SessionPosition,
  StateEntry,
  StoredEventWindow,
  StoredSession,
} from './session-driver.ts';
import { StateTable } from './state-table.ts';
import { StoredEvents } from './stored-events.ts';

interface AppRecord {
  readonly state: StateTable;
  readonly users: Map<string, UserRecord>;
}

interface UserRecord {
  readonly state: StateTable;
  readonly sessions: Map<string, SessionRecord>;
}

interface SessionRecord {
  readonly app: AppRecord;
  readonly user: UserRecord;
  readonly incarnation: string;
  readonly state: StateTable;
  /** As the session was created; undefined when it was created without. */
  initialState: StateTable | undefined;
  readonly events: StoredEvents;
  /** Invocation id to call id to call. */
  toolCalls: Map<string, Map<string, ToolLedgerEntry>> | undefined;
  updatedAtMs: number;
  epoch: number;
  /** 0 when nobody has a live lease. */
  leaseUntilMs: number;
}

const NO_STATE: readonly StateEntry[] = [];

/** Sessions in maps. Epochs and incarnations count through all sessions, so neither comes back when a session is made anew. */
export class InMemorySessionDriver implements SessionDriver {
  readonly shared = false;
  readonly #apps = new Map<string, AppRecord>();
  #incarnations = 0;
  #epochs = 0;

  createSession({ appName, userId, sessionId, writes, nowMs }: SessionCreation): CreatedSession | undefined {
    let app = this.#apps.get(appName);
    if (!app) this.#apps.set(appName, (app = { state: new StateTable(), users: new Map() }));
    let user = app.users.get(userId);
    if (!user) app.users.set(userId, (user = { state: new StateTable(), sessions: new Map() }));
    if (user.sessions.has(sessionId)) return undefined;
    const record: SessionRecord = {
      app,
      user,
      incarnation: String(++this.#incarnations),
      state: new StateTable(),
      initialState: undefined,
      events: new StoredEvents(),
      toolCalls: undefined,
      updatedAtMs: nowMs,
      epoch: 0,
      leaseUntilMs: 0,
    };
    user.sessions.set(sessionId, record);
    writeState(record, writes);
    for (const { scope, key, value } of writes)
      if (scope === 'session') (record.initialState ??= new StateTable()).set(key, value);
    return { incarnation: record.incarnation, state: readState(record) };
  }

  importSession(session: SessionImport): CreatedSession | undefined {
    const { appName, userId, sessionId, updatedAtMs: nowMs, initialState } = session;
    const created = this.createSession({ appName, userId, sessionId, writes: initialState, nowMs });
    const record = created && this.#find(session);
    if (!record) return undefined;
    record.state.clear();
    writeState(record, session.state);
    for (const { scope, key, value } of session.sharedState) {
      const table = scope === 'app' ? record.app.state : record.user.state;
      if (!table.has(key)) table.set(key, value);
    }
    for (const event of session.events) record.events.add(event);
    for (const call of session.toolCalls) addToolCall(record, call);
    return { incarnation: record.incarnation, state: readState(record) };
  }

  readEvents(key: SessionKey, window: EventWindow): StoredEventWindow | undefined {
    const record = this.#find(key);
    if (!record) return undefined;
    const { incarnation, events } = record;
    return { incarnation, lastSeq: events.length, events: events.read(window) };
  }

  readBackground(key: SessionKey): SessionBackground | undefined {
    const record = this.#find(key);
    if (!record) return undefined;
    const initialState: StateEntry[] = [];
    record.initialState?.readInto(initialState, 'session');
    const toolCalls = [...(record.toolCalls?.values() ?? [])].flatMap((calls) => [...calls.values()]);
    return { ...toStored(key, record, []), initialState, toolCalls: structuredClone(toolCalls) };
  }

  readSession(key: SessionKey, window: EventWindow): StoredSession | undefined {
    const record = this.#find(key);
    return record && toStored(key, record, record.events.read(window));
  }

  listSessions({ appName, userId, limit, after }: SessionPage): StoredSession[] {
    const found: { readonly position: SessionPosition; readonly record: SessionRecord }[] = [];
    for (const [owner, { sessions }] of this.#apps.get(appName)?.users ?? []) {
      if (userId !== undefined && owner !== userId) continue;
      for (const [sessionId, record] of sessions) {
        const position = { updatedAtMs: record.updatedAtMs, sessionId, userId: owner };
        if (!after || comparePositions(after, position) < 0) found.push({ position, record });
      }
    }
    return found
      .sort((one, other) => comparePositions(one.position, other.position))
      .slice(0, limit)
      .map(({ position, record }) => toStored({ appName, ...position }, record, []));
  }

  deleteSession({ appName, userId, sessionId }: SessionKey): void {
    const app = this.#apps.get(appName);
    const user = app?.users.get(userId);
    user?.sessions.delete(sessionId);
    if (user?.sessions.size === 0 && user.state.isEmpty) app?.users.delete(userId);
  }

  appendEvent(append: EventAppend): AppendOutcome {
    const { event, lease, nowMs } = append;
    const record = this.#find(append);
    if (!record || record.incarnation !== append.incarnation) return { status: 'missing' };
    if (lease) {
      if (!isLive(record, lease)) return { status: 'stale' };
    } else if (record.leaseUntilMs > nowMs) {
      return { status: 'busy', freeAtMs: record.leaseUntilMs };
    }
    const duplicate = record.events.find(event.id);
    if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: record.events.length };
    record.events.add(event);
    writeState(record, append.writes);
    record.updatedAtMs = nowMs;
    record.leaseUntilMs = lease ? nowMs + lease.ttlMs : 0;
    return { status: 'stored', seq: record.events.length };
  }

  claimLease(claim: LeaseClaim): ClaimOutcome {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver } = claim;
    const record = this.#find(claim);
    if (!record) return { status: 'missing' };
    if (record.leaseUntilMs > nowMs && !takeOver) return { status: 'busy', freeAtMs: record.leaseUntilMs };
    record.epoch = ++this.#epochs;
    record.leaseUntilMs = nowMs + ttlMs;
    return { status: 'taken', lease: { appName, userId, sessionId, epoch: record.epoch, ttlMs } };
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    const record = this.#find(lease);
    if (!record || !isLive(record, lease)) return false;
    record.leaseUntilMs = nowMs + lease.ttlMs;
    return true;
  }

  releaseLease(lease: SessionLease): void {
    const record = this.#find(lease);
    if (record && isLive(record, lease)) record.leaseUntilMs = 0;
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): boolean {
    const record = this.#find(lease);
    if (!record || !isLive(record, lease)) return false;
    addToolCall(record, entry);
    return true;
  }

  listToolCalls(key: SessionKey, invocationId: string): ToolLedgerEntry[] {
    const calls = this.#find(key)?.toolCalls?.get(invocationId);
    return calls ? structuredClone([...calls.values()]) : [];
  }

  #find({ appName, userId, sessionId }: SessionKey): SessionRecord | undefined {
    return this.#apps.get(appName)?.users.get(userId)?.sessions.get(sessionId);
  }
}

function isLive(record: SessionRecord, lease: SessionLease): boolean {
  return record.epoch === lease.epoch && record.leaseUntilMs > 0;
}

function addToolCall(record: SessionRecord, entry: ToolLedgerEntry): void {
  record.toolCalls ??= new Map();
  let calls = record.toolCalls.get(entry.invocationId);
  if (!calls) record.toolCalls.set(entry.invocationId, (calls = new Map()));
  if (calls.get(entry.callId)?.status !== 'finished') calls.set(entry.callId, entry);
}

function writeState({ app, user, state }: SessionRecord, writes: readonly StateWrite[]): void {
  for (const { scope, key, value } of writes) {
    const table = scope === 'app' ? app.state : scope === 'user' ? user.state : state;
    if (value === undefined) table.remove(key);
    else table.set(key, value);
  }
}

function readState({ app, user, state }: SessionRecord): readonly StateEntry[] {
  if (app.state.isEmpty && user.state.isEmpty && state.isEmpty) return NO_STATE;
  const entries: StateEntry[] = [];
  app.state.readInto(entries, 'app');
  user.state.readInto(entries, 'user');
  state.readInto(entries, 'session');
  return entries;
}

function toStored(key: SessionKey, record: SessionRecord, events: Event[]): StoredSession {
  return {
    appName: key.appName,
    userId: key.userId,
    sessionId: key.sessionId,
    incarnation: record.incarnation,
    lastSeq: record.events.length,
    updatedAtMs: record.updatedAtMs,
    state: readState(record),
    events,
  };
}

function comparePositions(one: SessionPosition, other: SessionPosition): number {
  return (
    other.updatedAtMs - one.updatedAtMs ||
    compareText(one.sessionId, other.sessionId) ||
    compareText(one.userId, other.userId)
  );
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
