import type { Event, KeepRunOpen, PutRunWebhookRequest, RunWebhook, RunWebhookChange } from '@eventloom/core';
import type { SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import type {
  AppendCheck,
  AppendOutcome,
  BeginOutcome,
  EventAppend,
  EventWindow,
  LeaseClaim,
} from '@eventloom/sessions';
import type { OpenRunPage, RecordChanges, RunClaim, RunEnd, RunMessage, RunWebhookPage } from '@eventloom/sessions';
import type { SessionCreation, SessionDriver, SessionImport, SessionPage } from '@eventloom/sessions';
import {
  endLease,
  findRecord,
  isLeaseLive,
  keepLease,
  recordCancelled,
  refusedAppend,
  takeLease,
} from '@eventloom/sessions';
import { type RunTable, type StoredRun, takeRun, withdrawTicket } from '@eventloom/sessions';
import { changeWebhook, putWebhook, selectWebhooks } from '@eventloom/sessions';
import { type SessionHold, selectEvents, selectOpenRunPage, selectSessionPage } from '@eventloom/sessions';
import { type AppDocument, type SessionDocument, stateOf, toStored, writeState } from './app-document.ts';
import type { DocumentStore } from './document-store.ts';

const EMPTY = JSON.stringify({ count: 0, state: [], sessions: [] } satisfies AppDocument);

/** The name of a document that belongs to no app, because names of apps are not empty. */
const PROBE = '';

/** Sessions in one document per app. Every call reads or writes the whole document, so this suits apps with little data. */
export class DocumentSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #store: DocumentStore;

  constructor(store: DocumentStore) {
    this.#store = store;
  }

  createSession({ writes, nowMs, ...key }: SessionCreation) {
    const initialState = writes.filter(({ scope }) => scope === 'session');
    const session = { ...key, updatedAtMs: nowMs, initialState, events: [], toolCalls: [], runs: [] };
    return this.#add(session, (app, added) => writeState(app, added, writes));
  }

  importSession({ state, sharedState, ...session }: SessionImport) {
    // Existing state of the app and the user is written last, so that it is kept.
    return this.#add(session, (app, added) =>
      writeState(app, added, [...state, ...sharedState, ...stateOf(app, added)]),
    );
  }

  readSession(key: SessionKey, window: EventWindow) {
    return this.#change(key, (app, session) => session && toStored(app, session, selectEvents(session.events, window)));
  }

  readEvents(key: SessionKey, window: EventWindow) {
    return this.readSession(key, window);
  }

  readBackground(key: SessionKey) {
    return this.#change(key, (app, session) => session && toStored(app, session));
  }

  listSessions(page: SessionPage) {
    return this.#change(page, (app) => selectSessionPage(app.sessions, page).map((session) => toStored(app, session)));
  }

  listOpenRuns(page: OpenRunPage) {
    return this.#change(page, (app) => selectOpenRunPage(app.sessions, page));
  }

  deleteSession(key: SessionKey) {
    return this.#change(key, (app, session) => {
      // A session that is created again continues with higher epochs.
      app.count = Math.max(app.count, session?.epoch ?? 0);
      app.sessions = app.sessions.filter((other) => other !== session);
      app.state = app.state.filter(({ scope, owner }) => scope !== 'session' || owner !== session?.incarnation);
    });
  }

  beginRun(claim: RunClaim) {
    const { appName, userId, sessionId, nowMs, create, window } = claim;
    return this.#change(claim, (app, existing): BeginOutcome => {
      const empty = { updatedAtMs: nowMs, initialState: [], events: [], toolCalls: [], runs: [] };
      const session = existing ?? (create ? addSession(app, { appName, userId, sessionId, ...empty }) : undefined);
      if (!session) return { status: 'missing' };
      const before = toStored(app, session, selectEvents(session.events, window));
      const outcome = takeRun(session, new RunList(session.runs), claim, before.lastSeq);
      if (outcome.status !== 'taken') return outcome;
      // The callback may throw; then nothing is written, because the document is written last.
      const message = claim.message?.(coveredUntil(session.events));
      const duplicate = message && session.events.find(({ id }) => id === message.event.id);
      if (message && !duplicate) addEvent(app, session, message, nowMs);
      return { ...outcome, session: before, duplicate };
    });
  }

  endRun(end: RunEnd) {
    return this.#change(end, (app, session): AppendOutcome => {
      const outcome = append(app, session, end);
      const stored = session?.events.find(({ id }) => id === end.event.id);
      if (outcome.status === 'stale' && stored)
        return { status: 'duplicate', event: stored, lastSeq: session?.events.length ?? 0 };
      endLease(
        session,
        session && new RunList(session.runs),
        end.lease,
        end.keepRunOpen,
        end,
        session?.events.length ?? 0,
      );
      return outcome;
    });
  }

  appendEvent(request: EventAppend) {
    return this.#change(request, (app, session) => append(app, session, request));
  }

  checkAppend(check: AppendCheck) {
    return this.#change(check, (app, session) => {
      // Only the copy has the state that is checked.
      if (session) writeState({ ...app }, session, check.writes);
    });
  }

  appendEvents(appends: readonly EventAppend[]) {
    const [first] = appends;
    if (!first) return Promise.resolve([]);
    return this.#change(first, (app, session) => {
      const outcomes: AppendOutcome[] = [];
      for (const each of appends) {
        const outcome = append(app, session, each);
        outcomes.push(outcome);
        if (outcome.status !== 'stored' && outcome.status !== 'duplicate') break;
      }
      return outcomes;
    });
  }

  claimLease(claim: LeaseClaim) {
    return this.#change(claim, (_, session) => takeLease(session, claim));
  }

  renewLease(lease: SessionLease, nowMs: number) {
    return this.#change(lease, (_, session) => keepLease(session, lease, nowMs));
  }

  releaseLease(lease: SessionLease, keepRunOpen: KeepRunOpen, changes: RecordChanges = {}) {
    return this.#change(lease, (_, session) =>
      endLease(session, session && new RunList(session.runs), lease, keepRunOpen, changes, session?.events.length ?? 0),
    );
  }

  findRun(key: SessionKey, id: string) {
    return this.#change(key, (_, session) => session && findRecord(session, new RunList(session.runs), id));
  }

  cancelRequest(key: SessionKey, requestId: string) {
    return this.#change(
      key,
      (_, session) => session && recordCancelled(session, new RunList(session.runs), requestId, session.events.length),
    );
  }

  putRunWebhook(webhook: PutRunWebhookRequest) {
    return this.#change(webhook, (_, session) => putWebhook(session, session && new RunList(session.runs), webhook));
  }

  listRunWebhooks(page: RunWebhookPage) {
    return this.#change(page, (app) => selectWebhooks(app.sessions, page));
  }

  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined) {
    return this.#change(webhook, (_, session) => changeWebhook(session, webhook, change));
  }

  withdrawTicket(key: SessionKey, ticketId: string) {
    return this.#change(key, (_, session) => withdrawTicket(session, ticketId));
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry) {
    return this.#change(lease, (_, session) => {
      if (!isLeaseLive(session, lease)) return false;
      const isSame = (call: ToolLedgerEntry) =>
        call.invocationId === entry.invocationId && call.entryId === entry.entryId;
      const place = session.toolCalls.findIndex(isSame);
      if (place < 0) session.toolCalls.push(entry);
      else if (session.toolCalls[place]?.status !== 'finished') session.toolCalls[place] = entry;
      return true;
    });
  }

  async checkWritable() {
    const { text = EMPTY, version } = await this.#store.read(PROBE);
    await this.#store.write(PROBE, text, version);
  }

  async listToolCalls(key: SessionKey, invocationId: string) {
    const session = await this.readBackground(key);
    return session?.toolCalls.filter((call) => call.invocationId === invocationId) ?? [];
  }

  /** Adds a session; returns undefined if its key is taken. */
  #add(
    { events, toolCalls, runs, ...rest }: Omit<SessionImport, 'state' | 'sharedState'>,
    write: (app: AppDocument, session: SessionDocument) => void,
  ) {
    return this.#change(rest, (app, existing) => {
      if (existing) return undefined;
      const session = addSession(app, { ...rest, events: [...events], toolCalls: [...toolCalls], runs: [...runs] });
      write(app, session);
      return toStored(app, session);
    });
  }

  /**
   * Runs a transaction: reads the app, changes it and writes it, and repeats this if another writer wrote in between. Writes nothing if
   * nothing changed. The result may be modified, because the document is parsed for each attempt.
   */
  async #change<T>(
    { appName, userId, sessionId }: { appName: string; userId?: string | undefined; sessionId?: string },
    work: (app: AppDocument, session: SessionDocument | undefined) => T,
  ): Promise<T> {
    for (;;) {
      const { text = EMPTY, version } = await this.#store.read(appName);
      const app = JSON.parse(text) as AppDocument;
      const session = app.sessions.find((one) => one.userId === userId && one.sessionId === sessionId);
      const answer = work(app, session);
      const changed = JSON.stringify(app);
      if (changed === text || (await this.#store.write(appName, changed, version))) return answer;
    }
  }
}

/** The runs of a session in its document. */
class RunList implements RunTable {
  readonly #runs: StoredRun[];

  constructor(runs: StoredRun[]) {
    this.#runs = runs;
  }

  get(id: string) {
    return this.#runs.find((run) => run.id === id);
  }

  set(id: string, run: Omit<StoredRun, 'id'>): void {
    this.delete(id);
    this.#runs.push({ ...run, id });
  }

  delete(id: string): void {
    const place = this.#runs.findIndex((run) => run.id === id);
    if (place >= 0) this.#runs.splice(place, 1);
  }
}

/** Adds an unlocked session. */
function addSession(app: AppDocument, content: Omit<SessionDocument, 'incarnation' | keyof SessionHold>) {
  const epoch = ++app.count;
  const session: SessionDocument = { ...content, incarnation: String(epoch), epoch, leaseUntilMs: 0 };
  app.sessions.push(session);
  return session;
}

function append(app: AppDocument, session: SessionDocument | undefined, request: EventAppend): AppendOutcome {
  const { event, nowMs, lease, incarnation } = request;
  if (session?.incarnation !== incarnation) return { status: 'missing' };
  const refused = refusedAppend(session, request);
  if (refused) return refused;
  const duplicate = session.events.find(({ id }) => id === event.id);
  if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: session.events.length };
  session.leaseUntilMs = lease ? nowMs + lease.ttlMs : 0;
  addEvent(app, session, request, nowMs);
  return { status: 'stored', seq: session.events.length };
}

function addEvent(app: AppDocument, session: SessionDocument, { event, writes }: RunMessage, nowMs: number): void {
  session.events.push(event);
  session.updatedAtMs = nowMs;
  writeState(app, session, writes);
}

function coveredUntil(events: readonly Event[]): number {
  return events.reduce((end, { actions }) => Math.max(end, actions.compaction?.endTimestamp ?? -Infinity), -Infinity);
}
