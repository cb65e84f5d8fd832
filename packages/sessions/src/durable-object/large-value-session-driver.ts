import type { LeaveOpen, OpenRun, SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
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
import type { LargeTexts } from './large-texts.ts';

/** About how many characters of events are read for one page: one event may have twice as many. */
const MAX_PAGE_CHARS = 8 * 1024 * 1024;

/** Sessions in rows, with values that no row takes: calls that come upon one wait for it, and all others are answered at once. */
export class LargeValueSessionDriver implements SessionDriver {
  readonly shared = false;
  readonly #driver: SqlSessionDriver;
  readonly #texts: LargeTexts;

  constructor(driver: SqlSessionDriver, texts: LargeTexts) {
    this.#driver = driver;
    this.#texts = texts;
  }

  createSession(creation: SessionCreation): MaybePromise<CreatedSession | undefined> {
    return this.#texts.run(() => this.#driver.createSession(creation));
  }

  importSession(session: SessionImport): MaybePromise<CreatedSession | undefined> {
    return this.#texts.run(() => this.#driver.importSession(session));
  }

  readSession(key: SessionKey, window: EventWindow): MaybePromise<StoredSession | undefined> {
    return this.#texts.run(() => this.#driver.readSession(key, window));
  }

  readEvents(key: SessionKey, window: EventWindow): MaybePromise<StoredEventWindow | undefined> {
    return this.#texts.run(() => {
      const count = this.#driver.countWithin(key, window, MAX_PAGE_CHARS);
      const { afterSeq, limit } = window;
      const part = limit === undefined ? { beforeSeq: afterSeq + count + 1 } : { limit: Math.min(limit, count) };
      return this.#driver.readEvents(key, { ...window, ...part });
    });
  }

  readBackground(key: SessionKey): MaybePromise<SessionBackground | undefined> {
    return this.#texts.run(() => this.#driver.readBackground(key));
  }

  listSessions(page: SessionPage): MaybePromise<ListedSession[]> {
    return this.#texts.run(() => this.#driver.listSessions(page));
  }

  deleteSession(key: SessionKey): void {
    this.#driver.deleteSession(key);
  }

  appendEvent(append: EventAppend): MaybePromise<AppendOutcome> {
    return this.#texts.run(() => this.#driver.appendEvent(append));
  }

  claimLease(claim: LeaseClaim): ClaimOutcome {
    return this.#driver.claimLease(claim);
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    return this.#driver.renewLease(lease, nowMs);
  }

  releaseLease(lease: SessionLease, leaveOpen: LeaveOpen): void {
    this.#driver.releaseLease(lease, leaveOpen);
  }

  withdrawTicket(key: SessionKey, ticketId: string): void {
    this.#driver.withdrawTicket(key, ticketId);
  }

  listOpenRuns(page: OpenRunPage): OpenRun[] {
    return this.#driver.listOpenRuns(page);
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<boolean> {
    return this.#texts.run(() => this.#driver.recordToolCall(lease, entry));
  }

  listToolCalls(key: SessionKey, invocationId: string): MaybePromise<ToolLedgerEntry[]> {
    return this.#texts.run(() => this.#driver.listToolCalls(key, invocationId));
  }
}
