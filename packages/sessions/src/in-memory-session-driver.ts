import type {
  Event,
  KeepRunOpen,
  OpenRun,
  PutRunWebhookRequest,
  RunRecord,
  RunWebhook,
  RunWebhookChange,
  SessionKey,
  SessionLease,
  StateWrite,
  ToolLedgerEntry,
} from '@eventloom/core';
import { setOwn, weigh } from '@eventloom/core/internal';
import { ALL_EVENTS } from './session-view.ts';
import type { ClaimOutcome, LeaseClaim } from './lease-claim.ts';
import { selectOpenRunPage, selectSessionPage } from './select-page.ts';
import type {
  AppendCheck,
  AppendOutcome,
  BeginOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  OpenRunPage,
  RecordChanges,
  RunClaim,
  RunEnd,
  RunWebhookPage,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  StateEntry,
  StoredEventWindow,
  StoredRun,
  StoredSession,
} from './session-driver.ts';
import {
  endLease,
  findRecord,
  isLeaseLive,
  keepLease,
  recordCancelled,
  refusedAppend,
  type SessionHold,
  takeLease,
  takeRun,
  withdrawTicket,
} from './session-hold.ts';
import { changeWebhook, putWebhook, selectWebhooks, type WebhookHold } from './run-webhooks.ts';
import { checkScopeSize, KEY_BYTES } from './state-limit.ts';
import { IdIndex, StoredEvents } from './stored-events.ts';

/** An app and its users in memory. */
interface AppRecord {
  readonly state: StateTable;
  readonly users: Map<string, UserRecord>;
  /** The sessions that have an open run. */
  readonly openRuns: Set<MemorySession>;
  /** The sessions that have webhooks. */
  readonly webhooks: Set<MemorySession>;
}

/** A user and its sessions in memory. */
interface UserRecord {
  readonly state: StateTable;
  readonly sessions: Map<string, MemorySession>;
}

/** A session in memory. */
interface MemorySession extends SessionKey, SessionHold, WebhookHold {
  readonly app: AppRecord;
  readonly user: UserRecord;
  readonly incarnation: string;
  readonly state: StateTable;
  /** The state with which the session was created; undefined if there was none. */
  initialState: StateTable | undefined;
  readonly events: StoredEvents;
  /** The runs and requests of the session, by their ids. */
  readonly runs: Map<string, Omit<StoredRun, 'id'>>;
  /** The tool calls by invocation id. */
  toolCalls: Map<string, ToolCallList> | undefined;
  updatedAtMs: number;
}

/**
 * Sessions in maps. Incarnations are numbered across all sessions, and new sessions count their epochs from the highest of deleted ones, so
 * a session that is created again gets new ones.
 */
export class InMemorySessionDriver implements SessionDriver {
  readonly shared = false;
  readonly #apps = new Map<string, AppRecord>();
  /** The session that was found last, because a turn calls the store many times with the same session. */
  #last: MemorySession | undefined;
  #incarnations = 0;
  /** The highest epoch of deleted sessions. */
  #lastEpoch = 0;

  createSession(creation: SessionCreation): CreatedSession | undefined {
    const { writes, nowMs } = creation;
    if (writes.length > 0) this.#checkRoom(creation, writes);
    const record = this.#add(creation, nowMs);
    if (!record) return undefined;
    writeState(record, writes);
    for (const { scope, key, value } of writes)
      if (scope === 'session') (record.initialState ??= new StateTable()).set(key, value);
    return { incarnation: record.incarnation, state: readState(record) };
  }

  importSession(session: SessionImport): CreatedSession | undefined {
    const app = this.#apps.get(session.appName);
    const user = app?.users.get(session.userId);
    const added = session.sharedState.filter(({ scope, key }) => !(scope === 'app' ? app : user)?.state.has(key));
    this.#checkRoom(session, [...session.state, ...added]);
    const record = this.#add(session, session.updatedAtMs);
    if (!record) return undefined;
    for (const { key, value } of session.initialState) (record.initialState ??= new StateTable()).set(key, value);
    writeState(record, [...session.state, ...added]);
    for (const event of session.events) record.events.add(event);
    for (const call of session.toolCalls) toolCallsOf(record, call).write(call);
    for (const { id, invocationId, firstSeq } of session.runs) record.runs.set(id, { invocationId, firstSeq });
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
    const toolCalls = [...(record.toolCalls?.values() ?? [])].flatMap(({ entries }) => entries);
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
    this.#last = undefined;
    this.#lastEpoch = Math.max(this.#lastEpoch, record.epoch);
    app.openRuns.delete(record);
    app.webhooks.delete(record);
    if (user.sessions.size === 1 && user.state.isEmpty) app.users.delete(userId);
    else user.sessions.delete(sessionId);
  }

  appendEvent(append: EventAppend): AppendOutcome {
    const { event, lease, nowMs } = append;
    const record = this.#find(append);
    if (!record || record.incarnation !== append.incarnation) return { status: 'missing' };
    const refused = refusedAppend(record, append);
    if (refused) return refused;
    if (append.writes.length > 0) this.#checkRoom(append, append.writes);
    const duplicate = record.events.add(event);
    if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: record.events.length };
    if (append.writes.length > 0) writeState(record, append.writes);
    record.updatedAtMs = nowMs;
    record.leaseUntilMs = lease ? nowMs + lease.ttlMs : 0;
    return { status: 'stored', seq: record.events.length };
  }

  checkAppend(check: AppendCheck): void {
    if (this.#find(check)) this.#checkRoom(check, check.writes);
  }

  appendEvents(appends: readonly EventAppend[]): AppendOutcome[] {
    this.#checkRoomForAll(appends);
    const outcomes: AppendOutcome[] = [];
    for (const append of appends) {
      const outcome = this.appendEvent(append);
      outcomes.push(outcome);
      // The first append renews the lease for the following ones.
      if (outcome.status !== 'stored' && outcome.status !== 'duplicate') break;
    }
    return outcomes;
  }

  beginRun(claim: RunClaim): BeginOutcome {
    let record = this.#find(claim);
    // Checked first, because the check may throw.
    const message = claim.message?.(record?.events.coveredUntil ?? -Infinity);
    if (message && message.writes.length > 0) this.#checkRoom(claim, message.writes);
    if (!record && claim.create) record = this.#add(claim, claim.nowMs);
    if (!record) return { status: 'missing' };
    const outcome = takeRun(record, record.runs, claim, record.events.length);
    if (outcome.status !== 'taken') return outcome;
    record.app.openRuns.add(record);
    if (claim.webhook) record.app.webhooks.add(record);
    const session = toStored(record, record.events.read(claim.window));
    const duplicate = message && record.events.add(message.event);
    if (message && !duplicate) {
      if (message.writes.length > 0) writeState(record, message.writes);
      record.updatedAtMs = claim.nowMs;
    }
    const { lease, firstSeq, wasOpen } = outcome;
    return { status: 'taken', lease, firstSeq, wasOpen, session, duplicate };
  }

  endRun(end: RunEnd): AppendOutcome {
    const outcome = this.appendEvent(end);
    if (outcome.status === 'stale') {
      const events = this.#find(end)?.events.read(ALL_EVENTS) ?? [];
      const stored = events.find(({ id }) => id === end.event.id);
      return stored ? { status: 'duplicate', event: stored, lastSeq: events.length } : outcome;
    }
    if (outcome.status !== 'missing') this.releaseLease(end.lease, end.keepRunOpen, end);
    return outcome;
  }

  claimLease(claim: LeaseClaim): ClaimOutcome {
    return takeLease(this.#find(claim), claim);
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    return keepLease(this.#find(lease), lease, nowMs);
  }

  releaseLease(lease: SessionLease, keepRunOpen: KeepRunOpen, { outcome, forget }: RecordChanges = {}): boolean {
    const record = this.#find(lease);
    const isEnded = endLease(record, record?.runs, lease, keepRunOpen, { outcome, forget }, record?.events.length ?? 0);
    if (record && !record.openRun) record.app.openRuns.delete(record);
    if (record && !record.webhooks) record.app.webhooks.delete(record);
    return isEnded;
  }

  withdrawTicket(key: SessionKey, ticketId: string): void {
    withdrawTicket(this.#find(key), ticketId);
  }

  findRun(key: SessionKey, id: string): RunRecord | undefined {
    const record = this.#find(key);
    return record && findRecord(record, record.runs, id);
  }

  cancelRequest(key: SessionKey, requestId: string): RunRecord | undefined {
    const record = this.#find(key);
    return record && recordCancelled(record, record.runs, requestId, record.events.length);
  }

  listOpenRuns(page: OpenRunPage): OpenRun[] {
    return selectOpenRunPage(this.#apps.get(page.appName)?.openRuns ?? [], page);
  }

  putRunWebhook(webhook: PutRunWebhookRequest): boolean {
    const record = this.#find(webhook);
    const isPut = putWebhook(record, record?.runs, webhook);
    if (record && isPut) record.app.webhooks.add(record);
    return isPut;
  }

  listRunWebhooks(page: RunWebhookPage): RunWebhook[] {
    return selectWebhooks(this.#apps.get(page.appName)?.webhooks ?? [], page);
  }

  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): boolean {
    const record = this.#find(webhook);
    const isChanged = changeWebhook(record, webhook, change);
    if (record && !record.webhooks) record.app.webhooks.delete(record);
    return isChanged;
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): boolean {
    const record = this.#find(lease);
    if (!isLeaseLive(record, lease)) return false;
    toolCallsOf(record, entry).write(entry);
    return true;
  }

  checkWritable(): void {}

  listToolCalls(key: SessionKey, invocationId: string): ToolLedgerEntry[] {
    return structuredClone(this.#find(key)?.toolCalls?.get(invocationId)?.entries ?? []);
  }

  #find({ appName, userId, sessionId }: SessionKey): MemorySession | undefined {
    const last = this.#last;
    if (last?.sessionId === sessionId && last.userId === userId && last.appName === appName) return last;
    return (this.#last = this.#apps.get(appName)?.users.get(userId)?.sessions.get(sessionId));
  }

  /**
   * Checks all appends before the first of them changes anything.
   * @throws SizeLimitError if a state would be too large after one of the appends
   */
  #checkRoomForAll(appends: readonly EventAppend[]): void {
    const earlier: StateWrite[] = [];
    for (const append of appends) {
      const record = this.#find(append);
      if (!record || refusedAppend(record, append)) return;
      if (append.writes.length > 0) this.#checkRoom(append, append.writes, earlier);
      earlier.push(...append.writes);
    }
  }

  /**
   * @param earlier the writes of earlier appends of the same transaction
   * @throws SizeLimitError if a state would be too large after the writes
   */
  #checkRoom(key: SessionKey, writes: readonly StateWrite[], earlier: readonly StateWrite[] = []): void {
    const app = this.#apps.get(key.appName);
    const tables = { app: app?.state, user: app?.users.get(key.userId)?.state, session: this.#find(key)?.state };
    for (const scope of ['app', 'user', 'session'] as const) {
      const own = writes.filter((write) => write.scope === scope);
      const table = tables[scope] ?? new StateTable();
      if (own.length === 0) continue;
      const before = earlier.filter((write) => write.scope === scope);
      const all = before.length === 0 ? own : [...before, ...own];
      checkScopeSize(scope, before.length === 0 ? table.size : table.sizeAfter(before), table.sizeAfter(all));
    }
  }

  /** Adds an empty, free session; returns undefined if its key is taken. */
  #add({ appName, userId, sessionId }: SessionKey, updatedAtMs: number): MemorySession | undefined {
    let app = this.#apps.get(appName);
    if (!app)
      this.#apps.set(
        appName,
        (app = { state: new StateTable(), users: new Map(), openRuns: new Set(), webhooks: new Set() }),
      );
    let user = app.users.get(userId);
    if (!user) app.users.set(userId, (user = { state: new StateTable(), sessions: new Map() }));
    if (user.sessions.has(sessionId)) return undefined;
    const record: MemorySession = {
      appName,
      userId,
      sessionId,
      app,
      user,
      incarnation: String(++this.#incarnations),
      state: new StateTable(),
      initialState: undefined,
      events: new StoredEvents(),
      runs: new Map(),
      webhooks: undefined,
      toolCalls: undefined,
      updatedAtMs,
      epoch: this.#lastEpoch,
      leaseUntilMs: 0,
      openRun: undefined,
    };
    user.sessions.set(sessionId, record);
    return record;
  }

  *#sessionsOf({ appName, userId }: SessionPage): Generator<MemorySession> {
    const users = this.#apps.get(appName)?.users;
    if (!users) return;
    if (userId !== undefined) yield* users.get(userId)?.sessions.values() ?? [];
    else for (const { sessions } of users.values()) yield* sessions.values();
  }
}

/** Returns the list of the tool calls of an entry's invocation. */
function toolCallsOf(record: MemorySession, { invocationId }: ToolLedgerEntry): ToolCallList {
  record.toolCalls ??= new Map();
  let calls = record.toolCalls.get(invocationId);
  if (!calls) record.toolCalls.set(invocationId, (calls = new ToolCallList()));
  return calls;
}

/** The tool calls of an invocation, in the order in which they started. */
class ToolCallList {
  readonly entries: ToolLedgerEntry[] = [];
  readonly #ids = new IdIndex();

  idAt(index: number): string | undefined {
    return this.entries[index]?.entryId;
  }

  /** Stores a tool call, unless it is already finished. */
  write(entry: ToolLedgerEntry): void {
    const index = this.#ids.claim(this, entry.entryId, this.entries.length);
    if (this.entries[index]?.status !== 'finished') this.entries[index] = entry;
  }
}

function writeState({ app, user, state }: MemorySession, writes: readonly StateWrite[]): void {
  for (const { scope, key, value } of writes) {
    const table = scope === 'app' ? app.state : scope === 'user' ? user.state : state;
    if (value === undefined) table.remove(key);
    else table.set(key, value);
  }
}

/** Returns the merged state of a session. */
function readState({ app, user, state }: MemorySession): readonly StateEntry[] {
  const entries: StateEntry[] = [];
  app.state.readInto(entries, 'app');
  user.state.readInto(entries, 'user');
  state.readInto(entries, 'session');
  return entries;
}

/** Returns the session as it is read, with some of its events. */
function toStored(record: MemorySession, events: Event[]): StoredSession {
  return {
    appName: record.appName,
    userId: record.userId,
    sessionId: record.sessionId,
    incarnation: record.incarnation,
    lastSeq: record.events.length,
    updatedAtMs: record.updatedAtMs,
    state: readState(record),
    events,
  };
}

/** A value of state, and the size of its key. */
interface StateValue {
  readonly value: unknown;
  readonly size: number;
}

/** The state of one scope in memory. Values are copied in and out. */
class StateTable {
  /** Absent until the first write, because most sessions have no state in most scopes. */
  #values: Map<string, StateValue> | undefined;
  #size = 0;

  get isEmpty(): boolean {
    return this.#values === undefined || this.#values.size === 0;
  }

  /** The approximate size of all keys. */
  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#values?.has(key) === true;
  }

  /** Returns the size after writes. */
  sizeAfter(writes: readonly StateWrite[]): number {
    let size = this.#size;
    for (const [key, value] of new Map(writes.map((write) => [write.key, write.value])))
      size += (value === undefined ? 0 : sizeOf(key, value)) - this.#sizeOf(key);
    return size;
  }

  set(key: string, value: unknown): void {
    const size = sizeOf(key, value);
    this.#size += size - this.#sizeOf(key);
    (this.#values ??= new Map()).set(key, { value: copyStored(value), size });
  }

  remove(key: string): void {
    this.#size -= this.#sizeOf(key);
    this.#values?.delete(key);
  }

  readInto(entries: StateEntry[], scope: StateEntry['scope']): void {
    if (!this.#values) return;
    for (const [key, { value }] of this.#values) entries.push({ scope, key, value: copyStored(value) });
  }

  #sizeOf(key: string): number {
    return this.#values?.get(key)?.size ?? 0;
  }
}

function sizeOf(key: string, value: unknown): number {
  return key.length + KEY_BYTES + weigh(value);
}

/** Copies a value that is known to be JSON. */
function copyStored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyStored);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, copyStored(item));
  return copy;
}
