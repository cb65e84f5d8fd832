import type { Event, SessionKey, StateWrite, ToolLedgerEntry } from '@eventloom/core';
import type { StateEntry, StoredSession } from './session-driver.ts';
import type { SessionHold } from './session-hold.ts';
import { StateTable } from './state-table.ts';
import { StoredEvents } from './stored-events.ts';

/** An app in memory. */
export interface AppRecord {
  readonly state: StateTable;
  readonly users: Map<string, UserRecord>;
  /** The sessions that have an open run. */
  readonly openRuns: Set<SessionRecord>;
}

/** A user in memory. */
export interface UserRecord {
  readonly state: StateTable;
  readonly sessions: Map<string, SessionRecord>;
}

/** A session in memory. */
export interface SessionRecord extends SessionKey, SessionHold {
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
}

const NO_STATE: readonly StateEntry[] = [];

export function createAppRecord(): AppRecord {
  return { state: new StateTable(), users: new Map(), openRuns: new Set() };
}

export function createUserRecord(): UserRecord {
  return { state: new StateTable(), sessions: new Map() };
}

/** A session with nothing in it, which nobody holds. */
export function createSessionRecord(
  { appName, userId, sessionId }: SessionKey,
  app: AppRecord,
  user: UserRecord,
  incarnation: string,
  updatedAtMs: number,
): SessionRecord {
  return {
    appName,
    userId,
    sessionId,
    app,
    user,
    incarnation,
    state: new StateTable(),
    initialState: undefined,
    events: new StoredEvents(),
    toolCalls: undefined,
    updatedAtMs,
    epoch: 0,
    leaseUntilMs: 0,
    openRun: undefined,
  };
}

/** Writes a call, unless it is finished already. */
export function writeToolCall(record: SessionRecord, entry: ToolLedgerEntry): void {
  record.toolCalls ??= new Map();
  let calls = record.toolCalls.get(entry.invocationId);
  if (!calls) record.toolCalls.set(entry.invocationId, (calls = new Map()));
  if (calls.get(entry.callId)?.status !== 'finished') calls.set(entry.callId, entry);
}

export function writeState({ app, user, state }: SessionRecord, writes: readonly StateWrite[]): void {
  for (const { scope, key, value } of writes) {
    const table = scope === 'app' ? app.state : scope === 'user' ? user.state : state;
    if (value === undefined) table.remove(key);
    else table.set(key, value);
  }
}

/** What the session sees of the state. */
export function readState({ app, user, state }: SessionRecord): readonly StateEntry[] {
  if (app.state.isEmpty && user.state.isEmpty && state.isEmpty) return NO_STATE;
  const entries: StateEntry[] = [];
  app.state.readInto(entries, 'app');
  user.state.readInto(entries, 'user');
  state.readInto(entries, 'session');
  return entries;
}

/** The session as it is read, with some of its events. */
export function toStored(record: SessionRecord, events: Event[]): StoredSession {
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
