import type { Event, SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
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
  StoredEventWindow,
  StoredSession,
} from '../session-driver.ts';
import { migrateSessions } from './schema.ts';
import type { SqlConnection } from './sql-connection.ts';
import { SqlEvents } from './sql-events.ts';
import { type SessionWriter, SqlLeases } from './sql-leases.ts';
import { SqlListing } from './sql-listing.ts';
import { SqlState } from './sql-state.ts';
import { SqlToolCalls } from './sql-tool-calls.ts';
import { prepareStatements, type SessionRow, type Statements } from './statements.ts';

/** Sessions in a database in the dialect of SQLite. Every method is one statement or one transaction. */
export class SqlSessionDriver implements SessionDriver {
  readonly shared: boolean;
  readonly #connection: SqlConnection;
  readonly #sql: Statements;
  readonly #state: SqlState;
  readonly #events: SqlEvents;
  readonly #listing: SqlListing;
  readonly #leases: SqlLeases;
  readonly #toolCalls: SqlToolCalls;

  /**
   * Makes the tables where they are missing.
   * @throws ConfigurationError when a newer program made them
   */
  constructor(connection: SqlConnection) {
    migrateSessions(connection);
    this.shared = connection.shared;
    this.#connection = connection;
    this.#sql = prepareStatements(connection);
    this.#state = new SqlState(this.#sql, connection.maxTextBytes);
    this.#listing = new SqlListing(this.#sql);
    this.#leases = new SqlLeases(this.#sql);
    this.#events = new SqlEvents(this.#sql, connection.maxTextBytes);
    this.#toolCalls = new SqlToolCalls(this.#sql, connection.maxTextBytes);
  }

  createSession({ appName, userId, sessionId, writes, nowMs }: SessionCreation): CreatedSession | undefined {
    return this.#connection.write(() => {
      const pk = this.#insertSession(appName, userId, sessionId, nowMs);
      if (pk === undefined) return undefined;
      if (writes.length > 0) {
        this.#state.write(appName, userId, pk, writes);
        this.#state.keepAsInitial(pk);
      }
      return { incarnation: String(pk), state: this.#state.read(appName, userId, pk) };
    });
  }

  importSession(session: SessionImport): CreatedSession | undefined {
    const { appName, userId, sessionId, updatedAtMs } = session;
    return this.#connection.write(() => {
      const pk = this.#insertSession(appName, userId, sessionId, updatedAtMs);
      if (pk === undefined) return undefined;
      this.#state.write(appName, userId, pk, session.state);
      this.#state.add(appName, userId, pk, session.sharedState);
      this.#state.writeInitial(pk, session.initialState);
      let highTimestamp = -Infinity;
      for (const [index, event] of session.events.entries()) {
        highTimestamp = Math.max(highTimestamp, event.timestamp);
        this.#insertEvent(pk, index + 1, event, this.#events.toJson(event), highTimestamp, updatedAtMs);
      }
      this.#toolCalls.writeAll(pk, session.toolCalls);
      return { incarnation: String(pk), state: this.#state.read(appName, userId, pk) };
    });
  }

  readSession(key: SessionKey, window: EventWindow): StoredSession | undefined {
    return this.#connection.read(() => {
      const row = this.#find(key);
      return row && { ...this.#describe(key.appName, row), events: this.#events.read(row, window) };
    });
  }

  readEvents(key: SessionKey, window: EventWindow): StoredEventWindow | undefined {
    return this.#connection.read(() => {
      const row = this.#find(key);
      return row && { incarnation: String(row.pk), lastSeq: row.last_seq, events: this.#events.read(row, window) };
    });
  }

  readBackground(key: SessionKey): SessionBackground | undefined {
    return this.#connection.read(() => {
      const row = this.#find(key);
      if (!row) return undefined;
      const initialState = this.#state.readInitial(row.pk);
      return { ...this.#describe(key.appName, row), initialState, toolCalls: this.#toolCalls.listAll(row.pk) };
    });
  }

  listSessions(page: SessionPage): StoredSession[] {
    return this.#connection.read(() =>
      this.#listing.readPage(page).map((row) => ({ ...this.#describe(page.appName, row), events: [] })),
    );
  }

  deleteSession(key: SessionKey): void {
    this.#connection.write(() => {
      const row = this.#find(key);
      if (!row) return;
      this.#sql.raiseEpoch.run(row.epoch);
      this.#sql.deleteEvents.run(row.pk);
      this.#sql.deleteState.run(row.pk);
      this.#sql.deleteInitialState.run(row.pk);
      this.#sql.deleteToolCalls.run(row.pk);
      this.#sql.deleteSession.run(row.pk);
    });
  }

  appendEvent(append: EventAppend): AppendOutcome {
    const { lease, event, nowMs } = append;
    const json = this.#events.toJson(event);
    const writer = lease && this.#leases.writerOf(lease);
    try {
      if (lease && writer && append.incarnation === String(writer.pk)) {
        const isListed = this.#listing.isCurrent(writer.listedAt, nowMs);
        const next = () => this.#appendNext(append, lease, writer, json, isListed);
        const isSingle = isListed && append.writes.length === 0;
        if (isSingle ? this.#connection.single(next) : this.#connection.write(next)) {
          writer.lastSeq += 1;
          writer.highTimestamp = Math.max(writer.highTimestamp, event.timestamp);
          if (!isListed) writer.listedAt = nowMs;
          return { status: 'stored', seq: writer.lastSeq };
        }
      }
      return this.#connection.write(() => this.#appendAnywhere(append, json));
    } catch (error) {
      if (lease) this.#leases.forget(lease);
      throw error;
    }
  }

  claimLease(claim: LeaseClaim): ClaimOutcome {
    return this.#connection.single(() => this.#leases.claim(claim));
  }

  renewLease(lease: SessionLease, nowMs: number): boolean {
    return this.#connection.single(() => this.#leases.renew(lease, nowMs));
  }

  releaseLease(lease: SessionLease): void {
    this.#connection.single(() => this.#leases.end(lease));
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): boolean {
    const outcome = this.#toolCalls.toJson(entry);
    return this.#connection.write(() => this.#toolCalls.record(lease, entry, outcome));
  }

  listToolCalls(key: SessionKey, invocationId: string): ToolLedgerEntry[] {
    return this.#toolCalls.list(key, invocationId);
  }

  /** The new session's row; undefined when the key is taken. */
  #insertSession(appName: string, userId: string, sessionId: string, nowMs: number): number | undefined {
    const row = this.#sql.insertSession.get(appName, userId, sessionId, nowMs);
    return row && Number(row['pk']);
  }

  #insertEvent(pk: number, seq: number, event: Event, json: string, highTimestamp: number, nowMs: number): void {
    this.#sql.insertEvent.run(pk, seq, event.id, highTimestamp, nowMs, json, compactionEnd(event));
  }

  /** Appends at the place that the lease's owner knows; false, with nothing changed, when that cannot be done. */
  #appendNext(
    append: EventAppend,
    lease: SessionLease,
    writer: SessionWriter,
    json: string,
    isListed: boolean,
  ): boolean {
    const { appName, userId, event, writes, nowMs } = append;
    const { pk } = writer;
    const high = Math.max(writer.highTimestamp, event.timestamp);
    const insert = this.#sql.insertEventUnderLease;
    const end = compactionEnd(event);
    if (insert.run(pk, writer.lastSeq + 1, event.id, high, nowMs, json, end, lease.epoch).changes === 0) return false;
    if (!isListed) this.#listing.update(pk, nowMs);
    this.#state.write(appName, userId, pk, writes);
    return true;
  }

  /** Looks everything up, and says why when nothing is appended. */
  #appendAnywhere(append: EventAppend, json: string): AppendOutcome {
    const { appName, userId, sessionId, event, nowMs, lease } = append;
    const row = this.#find(append);
    if (!row || String(row.pk) !== append.incarnation) return { status: 'missing' };
    const held = row.lease_until > 0;
    if (lease && !(held && row.epoch === lease.epoch)) return { status: 'stale' };
    if (!lease && held && row.free_at > nowMs) return { status: 'busy', freeAtMs: row.free_at };
    const duplicate = this.#events.find(row.pk, event.id);
    if (duplicate) return { status: 'duplicate', event: duplicate, lastSeq: row.last_seq };
    const seq = row.last_seq + 1;
    const highTimestamp = Math.max(row.high_timestamp ?? -Infinity, event.timestamp);
    this.#insertEvent(row.pk, seq, event, json, highTimestamp, nowMs);
    this.#state.write(appName, userId, row.pk, append.writes);
    const isListed = this.#listing.isCurrent(row.listed_at, nowMs);
    if (!isListed) this.#listing.update(row.pk, nowMs);
    const listedAt = isListed ? row.listed_at : nowMs;
    if (lease) this.#leases.remember(lease, { pk: row.pk, lastSeq: seq, highTimestamp, listedAt });
    else if (held) this.#leases.end({ appName, userId, sessionId, epoch: row.epoch });
    return { status: 'stored', seq };
  }

  #find({ appName, userId, sessionId }: SessionKey): SessionRow | undefined {
    return this.#sql.session.get(appName, userId, sessionId) as SessionRow | undefined;
  }

  #describe(appName: string, row: SessionRow): Omit<StoredSession, 'events'> {
    return {
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      incarnation: String(row.pk),
      lastSeq: row.last_seq,
      updatedAtMs: row.updated_at,
      state: this.#state.read(appName, row.user_id, row.pk),
    };
  }
}

function compactionEnd({ actions }: Event): number | null {
  return actions.compaction?.endTimestamp ?? null;
}
