import type { LeaveOpen, OpenRun, SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import { ALL_EVENTS } from './event-window.ts';
import {
  type AppRecord,
  createAppRecord,
  createSessionRecord,
  createUserRecord,
  readState,
  type SessionRecord,
  toStored,
  writeState,
  writeToolCall,
} from './in-memory-session-record.ts';
import type { ClaimOutcome, LeaseClaim } from './lease-claim.ts';
import { selectOpenRunPage, selectSessionPage } from './select-page.ts';
import type {
  AppendOutcome,
  BeginOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  OpenRunPage,
  RunBegin,
  RunEnd,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  StateEntry,
  StoredEventWindow,
  StoredSession,
} from './session-driver.ts';
import { endLease, isLeaseLive, keepLease, refusedAppend, takeLease, withdrawTicket } from './session-hold.ts';
import { StateTable } from './state-table.ts';

/** Sessions in maps. Epochs and incarnations count through all sessions, so neither comes back when a session is made anew. */
export class InMemorySessionDriver implements SessionDriver {
  readonly shared = false;
  readonly #apps = new Map<string, AppRecord>();
  #incarnations = 0;
  #epochs = 0;

  createSession(creation: SessionCreation): CreatedSession | undefined {
    const { writes, nowMs } = creation;
    const record = this.#add(creation, nowMs);
    if (!record) return undefined;
    writeState(record, writes);
    for (const { scope, key, value } of writes)
      if (scope === 'session') (record.initialState ??= new StateTable()).set(key, value);
    return { incarnation: record.incarnation, state: readState(record) };
  }

  importSession(session: SessionImport): CreatedSession | undefined {
    const record = this.#add(session, session.updatedAtMs);
    if (!record) return undefined;
    for (const { key, value } of session.initialState) (record.initialState ??= new StateTable()).set(key, value);
    writeState(record, session.state);
    for (const { scope, key, value } of session.sharedState) {
      const table = scope === 'app' ? record.app.state : record.user.state;
      if (!table.has(key)) table.set(key, value);
    }
    for (const event of session.events) record.events.add(event);
    for (const call of session.toolCalls) writeToolCall(record, call);
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
    return { ...toStored(record, []), initialState, toolCalls: structuredClone(toolCalls) };
  }

  readSession(key: SessionKey, window: EventWindow): StoredSession | undefined {
    const record = this.#find(key);
    return record && toStored(record, record.events.read(window));
  }

  listSessions(page: SessionPage): StoredSession[] {
    return selectSessionPage(this.#sessionsOf(page), page).map((record) => toStored(record, []));
  }

  deleteSession(key: SessionKey): void {
    const record = this.#find(key);
    if (!record) return;
    const { app, user, userId, sessionId } = record;
    app.openRuns.delete(record);
    if (user.sessions.size === 1 && user.state.isEmpty) app.users.delete(userId);
    else user.sessions.delete(sessionId);
  }

  appendEvent(append: EventAppend): AppendOutcome {
    const { event, lease, nowMs } = append;
    const record = this.#find(append);
    if (!record || record.incarnation !== append.incarnation) return { status: 'missing' };
    const refused = refusedAppend(record, append);
    if (refused) return refused;
    const duplicate = record.events.add(event);
    if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: record.events.length };
    writeState(record, append.writes);
    record.updatedAtMs = nowMs;
    record.leaseUntilMs = lease ? nowMs + lease.ttlMs : 0;
    return { status: 'stored', seq: record.events.length };
  }

  beginRun(begin: RunBegin): BeginOutcome {
    let record = this.#find(begin);
    // First, because it may throw.
    const message = begin.message?.(record?.events.coveredUntil ?? -Infinity);
    if (!record && begin.create) record = this.#add(begin, begin.nowMs);
    if (!record) return { status: 'missing' };
    const outcome = takeLease(record, begin, () => ++this.#epochs);
    if (outcome.status !== 'taken') return outcome;
    noteOpenRun(record);
    const session = toStored(record, record.events.read(begin.window));
    const duplicate = message && record.events.add(message.event);
    if (message && !duplicate) {
      writeState(record, message.writes);
      record.updatedAtMs = begin.nowMs;
    }
    return { ...outcome, session, duplicate };
  }

  endRun(end: RunEnd): AppendOutcome {
    const outcome = this.appendEvent(end);
    if (outcome.status === 'stale') {
      const events = this.#find(end)?.events.read(ALL_EVENTS) ?? [];
      const stored = events.find(({ id }) => id === end.event.id);
      return stored ? { status: 'duplicate', event: stored, lastSeq: events.length } : outcome;
    }
    if (outcome.status !== 'missing') this.releaseLease(end.lease, end.leaveOpen);
    return outcome;
  }

  claimLease(claim: LeaseClaim): ClaimOutcome {
    const record = this.#find(claim);
    const outcome = takeLease(record, claim, () => ++this.#epochs);
    if (record) noteOpenRun(record);
    return outcome;
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    return keepLease(this.#find(lease), lease, nowMs);
  }

  releaseLease(lease: SessionLease, leaveOpen: LeaveOpen): void {
    const record = this.#find(lease);
    endLease(record, lease, leaveOpen);
    if (record) noteOpenRun(record);
  }

  withdrawTicket(key: SessionKey, ticketId: string): void {
    withdrawTicket(this.#find(key), ticketId);
  }

  listOpenRuns(page: OpenRunPage): OpenRun[] {
    return selectOpenRunPage(this.#apps.get(page.appName)?.openRuns ?? [], page);
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): boolean {
    const record = this.#find(lease);
    if (!isLeaseLive(record, lease)) return false;
    writeToolCall(record, entry);
    return true;
  }

  listToolCalls(key: SessionKey, invocationId: string): ToolLedgerEntry[] {
    const calls = this.#find(key)?.toolCalls?.get(invocationId);
    return calls ? structuredClone([...calls.values()]) : [];
  }

  #find({ appName, userId, sessionId }: SessionKey): SessionRecord | undefined {
    return this.#apps.get(appName)?.users.get(userId)?.sessions.get(sessionId);
  }

  /** A new session; undefined when its key is taken. */
  #add(key: SessionKey, nowMs: number): SessionRecord | undefined {
    let app = this.#apps.get(key.appName);
    if (!app) this.#apps.set(key.appName, (app = createAppRecord()));
    let user = app.users.get(key.userId);
    if (!user) app.users.set(key.userId, (user = createUserRecord()));
    if (user.sessions.has(key.sessionId)) return undefined;
    const record = createSessionRecord(key, app, user, String(++this.#incarnations), nowMs);
    user.sessions.set(key.sessionId, record);
    return record;
  }

  *#sessionsOf({ appName, userId }: SessionPage): Generator<SessionRecord> {
    const users = this.#apps.get(appName)?.users;
    if (!users) return;
    if (userId !== undefined) yield* users.get(userId)?.sessions.values() ?? [];
    else for (const { sessions } of users.values()) yield* sessions.values();
  }
}

/** Keeps the app's list of open runs up to date with the session. */
function noteOpenRun(record: SessionRecord): void {
  if (record.openRun) record.app.openRuns.add(record);
  else record.app.openRuns.delete(record);
}
