import type { SessionKey, SessionLease, StateWrite, ToolLedgerEntry } from '@eventloom/core';
import type {
  AppendOutcome,
  ClaimOutcome,
  EventAppend,
  EventWindow,
  LeaseClaim,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
} from '@eventloom/sessions';
import {
  addSession,
  compare,
  isLive,
  isSameKey,
  select,
  type SessionDocument,
  stateOf,
  toStored,
  writeState,
} from './app-document.ts';
import { AppDocuments } from './app-documents.ts';
import type { DocumentStore } from './document-store.ts';

/** Sessions in one document for each app. Every call costs the whole document: right for apps with little in them. */
export class DocumentSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #apps: AppDocuments;

  constructor(store: DocumentStore) {
    this.#apps = new AppDocuments(store);
  }

  createSession({ writes, nowMs, ...key }: SessionCreation) {
    return this.#apps.change(key, (app, existing) => {
      if (existing) return undefined;
      const initialState = writes.filter(({ scope }) => scope === 'session');
      const session = addSession(app, { ...key, updatedAtMs: nowMs, initialState, events: [], toolCalls: [] });
      writeState(app, session, writes);
      return toStored(app, session);
    });
  }

  importSession(imported: SessionImport) {
    return this.#apps.change(imported, (app, existing) => {
      if (existing) return undefined;
      const session = addSession(app, imported);
      const shared = stateOf(app, session);
      const isNew = (write: StateWrite): boolean => !shared.some((entry) => isSameKey(entry, write));
      writeState(app, session, [...imported.state, ...imported.sharedState.filter(isNew)]);
      return toStored(app, session);
    });
  }

  readSession(key: SessionKey, window: EventWindow) {
    return this.#apps.change(key, (app, session) => session && toStored(app, session, select(session.events, window)));
  }

  readEvents(key: SessionKey, window: EventWindow) {
    return this.readSession(key, window);
  }

  readBackground(key: SessionKey) {
    return this.#apps.change(key, (app, session) => session && toStored(app, session));
  }

  listSessions({ appName, userId, limit, after }: SessionPage) {
    return this.#apps.change({ appName }, (app) =>
      app.sessions
        .filter(
          (session) => (userId === undefined || session.userId === userId) && (!after || compare(after, session) < 0),
        )
        .sort(compare)
        .slice(0, limit)
        .map((session) => toStored(app, session)),
    );
  }

  async deleteSession(key: SessionKey) {
    await this.#apps.change(key, (app, session) => {
      app.sessions = app.sessions.filter((other) => other !== session);
      app.state = app.state.filter(({ scope, owner }) => scope !== 'session' || owner !== session?.incarnation);
    });
  }

  appendEvent({ event, writes, nowMs, lease, ...append }: EventAppend) {
    return this.#apps.change(append, (app, session): AppendOutcome => {
      if (session?.incarnation !== append.incarnation) return { status: 'missing' };
      const { events, leaseUntilMs } = session;
      if (lease && !isLive(session, lease)) return { status: 'stale' };
      if (!lease && leaseUntilMs > nowMs) return { status: 'busy', freeAtMs: leaseUntilMs };
      const duplicate = events.find(({ id }) => id === event.id);
      if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: events.length };
      writeState(app, session, writes);
      session.updatedAtMs = nowMs;
      session.leaseUntilMs = lease ? nowMs + lease.ttlMs : 0;
      return { status: 'stored', seq: events.push(event) };
    });
  }

  claimLease({ nowMs, ttlMs, takeOver, ...key }: LeaseClaim) {
    return this.#apps.change(key, (app, session): ClaimOutcome => {
      if (!session) return { status: 'missing' };
      if (session.leaseUntilMs > nowMs && !takeOver) return { status: 'busy', freeAtMs: session.leaseUntilMs };
      session.epoch = ++app.count;
      session.leaseUntilMs = nowMs + ttlMs;
      return { status: 'taken', lease: { ...key, epoch: session.epoch, ttlMs } };
    });
  }

  renewLease(lease: SessionLease, nowMs: number) {
    return this.#underLease(lease, (session) => {
      session.leaseUntilMs = nowMs + lease.ttlMs;
    });
  }

  async releaseLease(lease: SessionLease) {
    await this.#underLease(lease, (session) => {
      session.leaseUntilMs = 0;
    });
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry) {
    const { invocationId, callId } = entry;
    return this.#underLease(lease, ({ toolCalls }) => {
      const place = toolCalls.findIndex((call) => call.invocationId === invocationId && call.callId === callId);
      if (place < 0) toolCalls.push(entry);
      else if (toolCalls[place]?.status !== 'finished') toolCalls[place] = entry;
    });
  }

  listToolCalls(key: SessionKey, invocationId: string) {
    return this.#apps.change(
      key,
      (_, session) => session?.toolCalls.filter((call) => call.invocationId === invocationId) ?? [],
    );
  }

  /** False, with nothing changed, when the lease is not live. */
  #underLease(lease: SessionLease, change: (session: SessionDocument) => void) {
    return this.#apps.change(lease, (_, session) => {
      if (!isLive(session, lease)) return false;
      change(session);
      return true;
    });
  }
}
