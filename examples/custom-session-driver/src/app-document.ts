import type { Event, SessionLease, StateScope, StateWrite, ToolLedgerEntry } from '@eventloom/core';
import type { EventWindow, SessionImport, SessionPosition, StateEntry } from '@eventloom/sessions';

/** All of an app, as JSON. Its parts are lists and not objects, because names like `__proto__` are data. */
export interface AppDocument {
  /** Numbers sessions and leases and never goes back, so that none comes to life again when a session is made anew. */
  count: number;
  /** `owner` is empty for the app's own keys; otherwise a user's id or a session's incarnation. */
  state: (StateEntry & { readonly owner: string })[];
  sessions: SessionDocument[];
}

export interface SessionDocument {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly incarnation: string;
  readonly initialState: readonly StateEntry[];
  readonly events: Event[];
  readonly toolCalls: ToolLedgerEntry[];
  updatedAtMs: number;
  epoch: number;
  /** When the lease expires; 0 when none is live. */
  leaseUntilMs: number;
}

/** Adds a session, which nobody holds. */
export function addSession(app: AppDocument, added: Omit<SessionImport, 'state' | 'sharedState'>): SessionDocument {
  const { appName, userId, sessionId, updatedAtMs, initialState } = added;
  const session: SessionDocument = {
    appName,
    userId,
    sessionId,
    incarnation: String(++app.count),
    initialState,
    events: [...added.events],
    toolCalls: [...added.toolCalls],
    updatedAtMs,
    epoch: 0,
    leaseUntilMs: 0,
  };
  app.sessions.push(session);
  return session;
}

/** A session as drivers give it, with some of its events. */
export function toStored(app: AppDocument, session: SessionDocument, events: Event[] = []) {
  return { ...session, lastSeq: session.events.length, state: stateOf(app, session), events };
}

/** A lease is live until it is released or another one is given, expired or not. */
export function isLive(session: SessionDocument | undefined, { epoch }: SessionLease): session is SessionDocument {
  return session?.epoch === epoch && session.leaseUntilMs > 0;
}

/** What a session sees of the state. */
export function stateOf(app: AppDocument, session: SessionDocument): StateEntry[] {
  return app.state.filter(({ scope, owner }) => owner === ownerOf(session, scope));
}

export function writeState(app: AppDocument, session: SessionDocument, writes: readonly StateWrite[]): void {
  for (const write of writes) {
    const owner = ownerOf(session, write.scope);
    app.state = app.state.filter((entry) => !(isSameKey(entry, write) && entry.owner === owner));
    if (write.value !== undefined) app.state.push({ ...write, owner });
  }
}

export function isSameKey(one: StateWrite, other: StateWrite): boolean {
  return one.scope === other.scope && one.key === other.key;
}

function ownerOf({ userId, incarnation }: SessionDocument, scope: StateScope): string {
  return scope === 'app' ? '' : scope === 'user' ? userId : incarnation;
}

/** The events that meet every condition of the window, and of them the newest. */
export function select(events: readonly Event[], window: EventWindow): Event[] {
  const { afterSeq, beforeSeq = Infinity, sinceCompaction, afterTimestamp = -Infinity, limit = Infinity } = window;
  const ends = events.flatMap(({ actions }) => actions.compaction?.endTimestamp ?? []);
  const covered = sinceCompaction ? Math.max(-Infinity, ...ends) : -Infinity;
  const found = events.filter(
    ({ timestamp, actions }, index) =>
      index >= afterSeq &&
      index + 1 < beforeSeq &&
      timestamp >= afterTimestamp &&
      (timestamp > covered || actions.compaction),
  );
  return found.slice(Math.max(0, found.length - limit));
}

/** The order of a listing: newest update first, then by session id, then by user id. */
export function compare(one: SessionPosition, other: SessionPosition): number {
  const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return (
    other.updatedAtMs - one.updatedAtMs || byText(one.sessionId, other.sessionId) || byText(one.userId, other.userId)
  );
}
