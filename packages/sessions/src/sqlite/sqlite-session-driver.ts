import {
  type Event,
  InvalidEventError,
  type SessionKey,
  type SessionLease,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { DatabaseSync } from 'node:sqlite';
import type {
  AppendOutcome,
  ClaimOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  LeaseClaim,
  SessionCreation,
  SessionDriver,
  SessionPage,
  StoredSession,
} from '../session-driver.ts';
import { SqliteState } from './sqlite-state.ts';
import { SqliteTransactions } from './sqlite-transactions.ts';
import { prepareStatements, type SessionRow, type Statements } from './statements.ts';

/** What the holder of a lease knows of its session, because nobody else can write to it. */
interface Writer {
  readonly pk: number;
  lastSeq: number;
  highTimestamp: number;
}

/** Sessions in a SQLite database. Every method is one statement or one transaction. */
export class SqliteSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #sql: Statements;
  readonly #transactions: SqliteTransactions;
  readonly #state: SqliteState;
  /** Spares an append under a lease given here from looking up where the session ends. */
  readonly #writers = new WeakMap<SessionLease, Writer>();

  constructor(database: DatabaseSync) {
    this.#sql = prepareStatements(database);
    this.#transactions = new SqliteTransactions(database, this.#sql);
    this.#state = new SqliteState(this.#sql);
  }

  createSession({ appName, userId, sessionId, writes, nowMs }: SessionCreation): CreatedSession | undefined {
    return this.#transactions.write(() => {
      const row = this.#sql.insertSession.get(appName, userId, sessionId, nowMs);
      if (!row) return undefined;
      const pk = Number(row['pk']);
      this.#state.write(appName, userId, pk, writes);
      return { incarnation: String(pk), state: this.#state.read(appName, userId, pk) };
    });
  }

  readSession(key: SessionKey, window: EventWindow): StoredSession | undefined {
    return this.#transactions.read(() => {
      const row = this.#find(key);
      return row && this.#toStored(key.appName, row, this.#readEvents(row, window));
    });
  }

  listSessions({ appName, userId, limit, after }: SessionPage): StoredSession[] {
    const position = [after?.updatedAtMs ?? null, after?.sessionId ?? null, after?.userId ?? null] as const;
    return this.#transactions.read(() => {
      const rows =
        userId === undefined
          ? this.#sql.sessionsOfApp.all(appName, ...position, limit)
          : this.#sql.sessionsOfUser.all(appName, ...position, limit, userId);
      return (rows as unknown as SessionRow[]).map((row) => this.#toStored(appName, row, []));
    });
  }

  deleteSession(key: SessionKey): void {
    this.#transactions.write(() => {
      const row = this.#find(key);
      if (!row) return;
      this.#sql.raiseEpoch.run(row.epoch);
      this.#sql.deleteEvents.run(row.pk);
      this.#sql.deleteState.run(row.pk);
      this.#sql.deleteToolCalls.run(row.pk);
      this.#sql.deleteSession.run(row.pk);
    });
  }

  appendEvent(append: EventAppend): AppendOutcome {
    const { lease, writes, event } = append;
    const json = toJson(event);
    const writer = lease && this.#writers.get(lease);
    try {
      if (lease && writer && append.incarnation === String(writer.pk)) {
        const next = () => this.#appendNext(append, lease, writer, json);
        if (writes.length === 0 ? this.#transactions.single(next) : this.#transactions.write(next)) {
          writer.lastSeq += 1;
          writer.highTimestamp = Math.max(writer.highTimestamp, event.timestamp);
          return { status: 'stored', seq: writer.lastSeq };
        }
      }
      return this.#transactions.write(() => this.#appendAnywhere(append, json));
    } catch (error) {
      if (lease) this.#writers.delete(lease);
      throw error;
    }
  }

  claimLease(claim: LeaseClaim): ClaimOutcome {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver } = claim;
    const row = this.#transactions.single(() =>
      this.#sql.claimLease.get(appName, userId, sessionId, nowMs, ttlMs, takeOver ? 1 : 0),
    );
    if (!row) {
      const held = this.#find(claim);
      if (!held) return { status: 'missing' };
      return { status: 'busy', freeAtMs: held.lease_until > 0 ? held.free_at : nowMs };
    }
    const lease = { appName, userId, sessionId, epoch: Number(row['epoch']), ttlMs };
    const highTimestamp = row['high_timestamp'] === null ? -Infinity : Number(row['high_timestamp']);
    this.#writers.set(lease, { pk: Number(row['pk']), lastSeq: Number(row['last_seq']), highTimestamp });
    return { status: 'taken', lease };
  }

  renewLease({ appName, userId, sessionId, epoch, ttlMs }: SessionLease, nowMs: number): boolean {
    return this.#transactions.single(
      () => this.#sql.renewLease.run(appName, userId, sessionId, epoch, nowMs + ttlMs).changes === 1,
    );
  }

  releaseLease({ appName, userId, sessionId, epoch }: SessionLease): void {
    this.#transactions.single(() => this.#sql.endLease.run(appName, userId, sessionId, epoch));
  }

  recordToolCall({ appName, userId, sessionId, epoch }: SessionLease, entry: ToolLedgerEntry): boolean {
    const { invocationId, callId, name, status } = entry;
    const response = entry.response ? JSON.stringify(entry.response) : null;
    return this.#transactions.write(() => {
      const owner = [appName, userId, sessionId, epoch] as const;
      const { changes } = this.#sql.recordToolCall.run(...owner, invocationId, callId, name, status, response);
      return changes === 1 || this.#sql.liveLease.get(...owner) !== undefined;
    });
  }

  listToolCalls({ appName, userId, sessionId }: SessionKey, invocationId: string): ToolLedgerEntry[] {
    return this.#sql.toolCalls.all(appName, userId, sessionId, invocationId).map((row) => ({
      invocationId,
      callId: String(row['call_id']),
      name: String(row['name']),
      status: row['status'] === 'finished' ? 'finished' : 'started',
      ...(row['response'] === null ? {} : { response: JSON.parse(String(row['response'])) }),
    }));
  }

  /** Appends at the place that the lease's owner knows; false, with nothing changed, when that cannot be done. */
  #appendNext(append: EventAppend, lease: SessionLease, writer: Writer, json: string): boolean {
    const { appName, userId, event, writes, nowMs } = append;
    const { pk } = writer;
    const high = Math.max(writer.highTimestamp, event.timestamp);
    const insert = this.#sql.insertEventUnderLease;
    if (insert.run(pk, writer.lastSeq + 1, event.id, high, nowMs, json, lease.epoch).changes === 0) return false;
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
    const duplicate = this.#sql.eventById.get(row.pk, event.id);
    if (duplicate) return { status: 'duplicate', event: parse(duplicate['event']), lastSeq: row.last_seq };
    const seq = row.last_seq + 1;
    const highTimestamp = Math.max(row.high_timestamp ?? -Infinity, event.timestamp);
    this.#sql.insertEvent.run(row.pk, seq, event.id, highTimestamp, nowMs, json);
    this.#state.write(appName, userId, row.pk, append.writes);
    if (lease) this.#writers.set(lease, { pk: row.pk, lastSeq: seq, highTimestamp });
    else if (held) this.#sql.endLease.run(appName, userId, sessionId, row.epoch);
    return { status: 'stored', seq };
  }

  #find({ appName, userId, sessionId }: SessionKey): SessionRow | undefined {
    return this.#sql.session.get(appName, userId, sessionId) as SessionRow | undefined;
  }

  #toStored(appName: string, row: SessionRow, events: Event[]): StoredSession {
    return {
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      incarnation: String(row.pk),
      lastSeq: row.last_seq,
      updatedAtMs: row.updated_at,
      state: this.#state.read(appName, row.user_id, row.pk),
      events,
    };
  }

  #readEvents({ pk, last_seq }: SessionRow, { afterSeq, afterTimestamp, limit = Infinity }: EventWindow): Event[] {
    if (limit === 0 || afterSeq >= last_seq) return [];
    if (afterTimestamp === undefined) {
      const after = Math.max(afterSeq, last_seq - limit);
      return this.#sql.events.all(pk, after).map((row) => parse(row['event']));
    }
    const found: Event[] = [];
    for (const row of this.#sql.eventsBackwards.iterate(pk, afterSeq)) {
      if (Number(row['high_timestamp']) < afterTimestamp) break;
      const event = parse(row['event']);
      if (event.timestamp < afterTimestamp) continue;
      found.push(event);
      if (found.length === limit) break;
    }
    return found.reverse();
  }
}

function toJson(event: Event): string {
  try {
    return JSON.stringify(event);
  } catch (cause) {
    throw new InvalidEventError(`event ${JSON.stringify(event.id)} is not JSON`, { cause });
  }
}

function parse(json: unknown): Event {
  return JSON.parse(String(json)) as Event;
}
