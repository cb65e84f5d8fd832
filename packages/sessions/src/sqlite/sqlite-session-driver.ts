import type { LeaveOpen, OpenRun, Platform, SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import type {
  AppendOutcome,
  ClaimOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  LeaseClaim,
  ListedSession,
  MaybePromise,
  OpenRunPage,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  StoredEventWindow,
  StoredSession,
} from '../session-driver.ts';
import type { SqlSessionDriver } from '../sql/sql-session-driver.ts';
import { LockLine } from './lock-line.ts';

/** Sessions in a file that other processes lock now and then: what finds it locked is tried again, and fails after five seconds. */
export class SqliteSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #driver: SqlSessionDriver;
  readonly #lock: LockLine;

  constructor(driver: SqlSessionDriver, platform: Platform) {
    this.#driver = driver;
    this.#lock = new LockLine(platform);
  }

  createSession(creation: SessionCreation): MaybePromise<CreatedSession | undefined> {
    return this.#lock.write(() => this.#driver.createSession(creation));
  }

  importSession(session: SessionImport): MaybePromise<CreatedSession | undefined> {
    return this.#lock.write(() => this.#driver.importSession(session));
  }

  readSession(key: SessionKey, window: EventWindow): MaybePromise<StoredSession | undefined> {
    return this.#lock.read(() => this.#driver.readSession(key, window));
  }

  readEvents(key: SessionKey, window: EventWindow): MaybePromise<StoredEventWindow | undefined> {
    return this.#lock.read(() => this.#driver.readEvents(key, window));
  }

  readBackground(key: SessionKey): MaybePromise<SessionBackground | undefined> {
    return this.#lock.read(() => this.#driver.readBackground(key));
  }

  listSessions(page: SessionPage): MaybePromise<ListedSession[]> {
    return this.#lock.read(() => this.#driver.listSessions(page));
  }

  deleteSession(key: SessionKey): MaybePromise<void> {
    return this.#lock.write(() => this.#driver.deleteSession(key));
  }

  appendEvent(append: EventAppend): MaybePromise<AppendOutcome> {
    return this.#lock.write(() => this.#driver.appendEvent(append));
  }

  claimLease(claim: LeaseClaim): MaybePromise<ClaimOutcome> {
    return this.#lock.write(() => this.#driver.claimLease(claim));
  }

  renewLease(lease: SessionLease, nowMs: number): MaybePromise<boolean> {
    return this.#lock.write(() => this.#driver.renewLease(lease, nowMs));
  }

  releaseLease(lease: SessionLease, leaveOpen: LeaveOpen): MaybePromise<void> {
    return this.#lock.write(() => this.#driver.releaseLease(lease, leaveOpen));
  }

  withdrawTicket(key: SessionKey, ticketId: string): MaybePromise<void> {
    return this.#lock.write(() => this.#driver.withdrawTicket(key, ticketId));
  }

  listOpenRuns(page: OpenRunPage): MaybePromise<OpenRun[]> {
    return this.#lock.read(() => this.#driver.listOpenRuns(page));
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<boolean> {
    return this.#lock.write(() => this.#driver.recordToolCall(lease, entry));
  }

  listToolCalls(key: SessionKey, invocationId: string): MaybePromise<ToolLedgerEntry[]> {
    return this.#lock.read(() => this.#driver.listToolCalls(key, invocationId));
  }
}
