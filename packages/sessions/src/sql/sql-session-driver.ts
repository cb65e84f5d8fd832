import type {
  KeepRunOpen,
  MaybePromise,
  OpenRun,
  PutRunWebhookRequest,
  RunRecord,
  RunWebhook,
  RunWebhookChange,
  SessionKey,
  SessionLease,
  ToolLedgerEntry,
} from '@eventloom/core';
import { UNDONE } from '../errors.ts';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim } from '../lease-claim.ts';
import {
  type AppendCheck,
  type AppendOutcome,
  type BeginOutcome,
  type CreatedSession,
  type EventAppend,
  type EventWindow,
  type ListedSession,
  type OpenRunPage,
  type RecordChanges,
  type RunClaim,
  type RunEnd,
  type RunWebhookPage,
  type SessionBackground,
  type SessionCreation,
  type SessionDriver,
  type SessionImport,
  type SessionPage,
  type StoredEventWindow,
  type StoredSession,
} from '../session-driver.ts';
import { ToolCallBatches } from '../tool-call-batches.ts';
import { checkVersion, findSession } from './find-session.ts';
import { migrateSessions } from './schema.ts';
import { SqlAppends } from './sql-appends.ts';
import type { SqlConnection, SqlWork } from './sql-connection.ts';
import { nextHighTimestamp, SqlEvents } from './sql-events.ts';
import { SqlLeases } from './sql-leases.ts';
import { SqlListing } from './sql-listing.ts';
import { SqlRunWebhooks } from './sql-run-webhooks.ts';
import { SqlState } from './sql-state.ts';
import { SqlToolCalls } from './sql-tool-calls.ts';
import { prepareStatements, type SessionRow, type SqlStatements } from './statements.ts';

/**
 * Sessions in a database in the dialect of SQLite. Every method is one statement or one transaction, which tool calls of the same moment
 * share, and throws a ConfigurationError if a newer program migrated the tables.
 */
export class SqlSessionDriver implements SessionDriver {
  readonly shared: boolean;
  readonly #connection: SqlConnection;
  readonly #work: SqlWork;
  readonly #sql: SqlStatements;
  readonly #state: SqlState;
  readonly #events: SqlEvents;
  readonly #listing: SqlListing;
  readonly #leases: SqlLeases;
  readonly #appends: SqlAppends;
  readonly #toolCalls: SqlToolCalls;
  readonly #batches: ToolCallBatches;
  readonly #webhooks: SqlRunWebhooks;

  /**
   * Creates missing tables.
   *
   * @param work repeats work that the connection cannot do now
   * @throws ConfigurationError if a newer program created the tables
   */
  constructor(connection: SqlConnection, work: SqlWork) {
    migrateSessions(connection);
    this.shared = connection.shared;
    this.#connection = connection;
    this.#work = {
      read: (reads) => work.read(reads),
      write: (writes) => {
        this.#batches.write();
        return work.write(writes);
      },
    };
    this.#batches = new ToolCallBatches((lease, entries) => work.write(() => this.#recordToolCalls(lease, entries)));
    this.#sql = prepareStatements(connection);
    this.#state = new SqlState(this.#sql, connection);
    this.#listing = new SqlListing(this.#sql);
    this.#leases = new SqlLeases(this.#sql);
    this.#events = new SqlEvents(this.#sql, connection.texts);
    const parts = { events: this.#events, state: this.#state, listing: this.#listing, leases: this.#leases };
    this.#appends = new SqlAppends(connection, this.#sql, parts);
    this.#toolCalls = new SqlToolCalls(this.#sql, connection.texts);
    this.#webhooks = new SqlRunWebhooks(this.#sql);
  }

  createSession({
    appName,
    userId,
    sessionId,
    writes,
    nowMs,
  }: SessionCreation): MaybePromise<CreatedSession | undefined> {
    return this.#write(() => {
      const pk = this.#insertSession(appName, userId, sessionId, nowMs);
      if (pk === undefined) return undefined;
      if (writes.length > 0) {
        this.#state.write(appName, userId, pk, writes);
        this.#state.keepAsInitial(pk);
      }
      return { incarnation: String(pk), state: this.#state.read(appName, userId, pk) };
    });
  }

  importSession(session: SessionImport): MaybePromise<CreatedSession | undefined> {
    const { appName, userId, sessionId, updatedAtMs } = session;
    return this.#write(() => {
      const pk = this.#insertSession(appName, userId, sessionId, updatedAtMs);
      if (pk === undefined) return undefined;
      this.#state.write(appName, userId, pk, session.state);
      this.#state.add(appName, userId, pk, session.sharedState);
      this.#state.writeInitial(pk, session.initialState);
      let highTimestamp = -Infinity;
      for (const [index, event] of session.events.entries()) {
        highTimestamp = nextHighTimestamp(highTimestamp, event.timestamp);
        this.#events.insert({ pk, seq: index + 1, highTimestamp }, event, this.#events.toText(event), updatedAtMs, 0);
      }
      this.#toolCalls.writeAll(pk, session.toolCalls);
      for (const run of session.runs) this.#leases.recordRun(pk, run);
      return { incarnation: String(pk), state: this.#state.read(appName, userId, pk) };
    });
  }

  /** @param hasState false to omit the state */
  readSession(key: SessionKey, window: EventWindow, hasState = true): MaybePromise<StoredSession | undefined> {
    return this.#read(() => {
      const row = findSession(this.#sql, key);
      if (!row) return undefined;
      const state = hasState ? this.#state.read(key.appName, key.userId, row.pk) : [];
      return { ...describe(key, row), state, events: this.#events.read(row, window) };
    });
  }

  readEvents(key: SessionKey, window: EventWindow): MaybePromise<StoredEventWindow | undefined> {
    return this.#read(() => {
      const row = findSession(this.#sql, key);
      if (!row) return undefined;
      const events = this.#events.readPage(row, window, this.#connection.maxPageChars);
      return { incarnation: String(row.pk), lastSeq: row.last_seq, events };
    });
  }

  countWithin(key: SessionKey, window: EventWindow, maxBytes: number): MaybePromise<number> {
    return this.#read(() => {
      const row = findSession(this.#sql, key);
      return row ? this.#events.countWithin(row, window, maxBytes) : 1;
    });
  }

  readBackground(key: SessionKey): MaybePromise<SessionBackground | undefined> {
    return this.#read(() => {
      const row = findSession(this.#sql, key);
      if (!row) return undefined;
      const initialState = this.#state.readInitial(row.pk);
      const state = this.#state.read(key.appName, key.userId, row.pk);
      return { ...describe(key, row), state, initialState, toolCalls: this.#toolCalls.listAll(row.pk) };
    });
  }

  listSessions(page: SessionPage): MaybePromise<ListedSession[]> {
    return this.#read(() => {
      checkVersion(this.#sql);
      const states = this.#state.pageReader(page.appName);
      const found: ListedSession[] = [];
      for (const row of this.#listing.readPage(page)) {
        const last = found.at(-1);
        if (last && states.size > this.#connection.maxPageChars)
          return [...found.slice(0, -1), { ...last, isCut: true }];
        const key = { appName: page.appName, userId: row.user_id, sessionId: row.session_id };
        found.push({ ...describe(key, row), state: states.read(key.userId, row.pk), events: [] });
      }
      return found;
    });
  }

  deleteSession(key: SessionKey): MaybePromise<void> {
    return this.#write(() => {
      const row = findSession(this.#sql, key);
      if (!row) return;
      this.#sql.raiseEpoch.run(row.epoch);
      this.#sql.deleteEvents.run(row.pk);
      this.#sql.deleteState.run(row.pk);
      this.#sql.deleteInitialState.run(row.pk);
      this.#sql.deleteRuns.run(row.pk);
      this.#sql.deleteWebhooks.run(row.pk);
      this.#sql.deleteToolCalls.run(row.pk);
      this.#sql.deleteHold.run(row.pk);
      this.#sql.deleteTickets.run(row.pk);
      this.#sql.deleteSession.run(row.pk);
    });
  }

  appendEvent(append: EventAppend): MaybePromise<AppendOutcome> {
    return this.#work.write(() => this.#appends.append(append));
  }

  async checkAppend(check: AppendCheck): Promise<void> {
    try {
      await this.#write(() => {
        this.#appends.check(check);
        throw UNDONE;
      });
    } catch (error) {
      if (error !== UNDONE) throw error;
    }
  }

  appendEvents(appends: readonly EventAppend[]): MaybePromise<AppendOutcome[]> {
    return this.#work.write(() => this.#appends.appendAll(appends));
  }

  beginRun(claim: RunClaim): MaybePromise<BeginOutcome> {
    return this.#work.write(() => this.#refuseAgain(claim) ?? this.#connection.write(() => this.#beginRun(claim)));
  }

  endRun(end: RunEnd): MaybePromise<AppendOutcome> {
    return this.#work.write(() => this.#appends.append(end, end));
  }

  claimLease(claim: LeaseClaim): MaybePromise<ClaimOutcome> {
    return this.#work.write(() => this.#refuseAgain(claim) ?? this.#connection.write(() => this.#leases.claim(claim)));
  }

  withdrawTicket(key: SessionKey, ticketId: string): MaybePromise<void> {
    return this.#work.write(() => this.#leases.withdraw(key, ticketId));
  }

  renewLease(lease: SessionLease, nowMs: number): MaybePromise<boolean> {
    return this.#work.write(() => this.#leases.renew(lease, nowMs));
  }

  releaseLease(lease: SessionLease, keepRunOpen: KeepRunOpen, changes?: RecordChanges): MaybePromise<boolean> {
    return this.#write(() => this.#leases.release(lease, keepRunOpen, changes));
  }

  findRun(key: SessionKey, id: string): MaybePromise<RunRecord | undefined> {
    return this.#read(() => this.#leases.findRun(key, id));
  }

  cancelRequest(key: SessionKey, requestId: string): MaybePromise<RunRecord | undefined> {
    return this.#write(() => this.#leases.cancelRequest(key, requestId));
  }

  listOpenRuns(page: OpenRunPage): MaybePromise<OpenRun[]> {
    return this.#read(() => {
      checkVersion(this.#sql);
      return this.#leases.listOpenRuns(page);
    });
  }

  putRunWebhook(webhook: PutRunWebhookRequest): MaybePromise<boolean> {
    return this.#write(() => this.#webhooks.put(webhook));
  }

  listRunWebhooks(page: RunWebhookPage): MaybePromise<RunWebhook[]> {
    return this.#read(() => {
      checkVersion(this.#sql);
      return this.#webhooks.list(page);
    });
  }

  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): MaybePromise<boolean> {
    return this.#work.write(() => this.#webhooks.change(webhook, change));
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): Promise<boolean> {
    return this.#batches.add(lease, entry);
  }

  listToolCalls(key: SessionKey, invocationId: string): MaybePromise<ToolLedgerEntry[]> {
    return this.#read(() => this.#toolCalls.list(key, invocationId));
  }

  /** Uses two transactions, because pages that one transaction fills and frees again are not written. */
  checkWritable(): MaybePromise<void> {
    return this.#work.write(() => {
      this.#connection.write(() => this.#toolCalls.writeProbe());
      this.#connection.write(() => this.#toolCalls.removeProbe());
    });
  }

  #recordToolCalls(lease: SessionLease, entries: readonly ToolLedgerEntry[]): boolean {
    const rows = entries.map((entry) => ({ entry, outcome: this.#toolCalls.toTexts(entry) }));
    const record = (): boolean => rows.every((row) => this.#toolCalls.record(lease, row.entry, row.outcome));
    // One statement is its own transaction. A value outside its row needs a transaction, whose end checks it.
    const isSingle = rows.length === 1 && !rows[0]?.outcome.some((text) => text?.startsWith('@'));
    return isSingle ? record() : this.#connection.write(record);
  }

  #beginRun(claim: RunClaim): BeginOutcome {
    const { appName, userId, sessionId, nowMs } = claim;
    let row = this.#leases.findForRun(claim);
    if (!row && claim.create) {
      this.#insertSession(appName, userId, sessionId, nowMs);
      row = this.#leases.findForRun(claim);
    }
    if (!row) return { status: 'missing' };
    const outcome = this.#leases.claimForRun(row, claim);
    if (outcome.status !== 'taken') return outcome;
    if (claim.webhook) this.#webhooks.add(claim.webhook);
    const state = this.#state.read(appName, userId, row.pk);
    const session = { ...describe(claim, row), state, events: this.#events.read(row, claim.window) };
    const message = claim.message?.(row.covered_until ?? -Infinity);
    const duplicate = message && this.#appends.appendMessage(claim, outcome.lease, row, message);
    return { ...outcome, session, duplicate };
  }

  /** A claim with a ticket that is refused again rarely writes, so a read transaction is tried first. */
  #refuseAgain(claim: LeaseClaim): ClaimRefusal | undefined {
    const { ticket } = claim;
    return ticket && this.#connection.read(() => this.#leases.refuseAgain(claim, ticket));
  }

  #read<T>(work: () => T): MaybePromise<T> {
    return this.#work.read(() => this.#connection.read(work));
  }

  #write<T>(work: () => T): MaybePromise<T> {
    return this.#work.write(() => this.#connection.write(work));
  }

  /** Inserts a session and returns its key; undefined if the session exists. */
  #insertSession(appName: string, userId: string, sessionId: string, nowMs: number): number | undefined {
    const row = this.#sql.insertSession.get(appName, userId, sessionId, nowMs);
    if (!row) checkVersion(this.#sql);
    return row && Number(row['pk']);
  }
}

function describe(
  { appName, userId, sessionId }: SessionKey,
  row: SessionRow,
): Omit<StoredSession, 'events' | 'state'> {
  const { pk, last_seq: lastSeq, updated_at: updatedAtMs } = row;
  return { appName, userId, sessionId, incarnation: String(pk), lastSeq, updatedAtMs };
}
