import type { SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
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
  StateEntry,
  StoredEventWindow,
  StoredSession,
} from '../session-driver.ts';
import { EventAppender } from './event-appender.ts';
import { type ClaimRow, type LeaseStatements, leaseStatements } from './lease-statements.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { type ReadStatements, readStatements } from './read-statements.ts';
import { SessionImporter } from './session-importer.ts';
import { type CreatedRow, type SessionStatements, sessionStatements } from './session-statements.ts';
import type { Statement } from './statement.ts';
import { actionsJson, responseJson, toStateLists } from './stored-json.ts';
import { StoredRows } from './stored-rows.ts';

/** Sessions in PostgreSQL. Every method is one statement, but those that delete and import, and an append that has to wait. */
export class PostgresSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #appender: EventAppender;
  readonly #importer: SessionImporter;
  readonly #leases: LeaseStatements;
  readonly #reads: ReadStatements;
  readonly #sessions: SessionStatements;

  constructor(database: PostgresDatabase) {
    const { tables, run } = database;
    this.#database = database;
    this.#run = run;
    this.#appender = new EventAppender(database);
    this.#leases = leaseStatements(tables);
    this.#reads = readStatements(tables);
    this.#sessions = sessionStatements(tables);
    this.#importer = new SessionImporter(database, this.#sessions, this.#reads);
  }

  async createSession(creation: SessionCreation): Promise<CreatedSession | undefined> {
    const { writes, nowMs } = creation;
    const values = [...keyOf(creation), nowMs, ...toStateLists(writes)];
    const rows = (await this.#run(this.#sessions.create, values)) as readonly CreatedRow[];
    const [made] = rows;
    if (!made) return undefined;
    const state = new Map<string, StateEntry>();
    for (const { kind, key, value } of rows) {
      if (key !== null) state.set(`${kind}:${key}`, { scope: kind, key, value: JSON.parse(value) as unknown });
    }
    for (const { scope, key, value } of structuredClone(writes)) state.set(`${scope}:${key}`, { scope, key, value });
    return { incarnation: made.pk, state: [...state.values()] };
  }

  async readSession(key: SessionKey, window: EventWindow): Promise<StoredSession | undefined> {
    const { session, narrowedSession } = this.#reads;
    return (await this.#readWindow(key, window, session, narrowedSession)).session;
  }

  async listSessions({ appName, userId, limit, after }: SessionPage): Promise<StoredSession[]> {
    const begin = after ? [-after.updatedAtMs, after.sessionId, after.userId] : [-Infinity, '', ''];
    const values = [appName, ...begin, limit];
    const rows =
      userId === undefined
        ? await this.#run(this.#reads.sessionsOfApp, values)
        : await this.#run(this.#reads.sessionsOfUser, [...values, userId]);
    return new StoredRows(appName, rows).sessions;
  }

  async readEvents(key: SessionKey, window: EventWindow): Promise<StoredEventWindow | undefined> {
    const { events, narrowedEvents } = this.#reads;
    return (await this.#readWindow(key, window, events, narrowedEvents)).window;
  }

  async readBackground(key: SessionKey): Promise<SessionBackground | undefined> {
    const rows = new StoredRows(key.appName, await this.#run(this.#reads.background, keyOf(key)));
    const { session, initialState, toolCalls } = rows;
    return session && { ...session, initialState, toolCalls };
  }

  importSession(session: SessionImport): Promise<CreatedSession | undefined> {
    return this.#importer.import(session);
  }

  /** Under the lock: rows that somebody appends meanwhile would be invisible to what deletes them, and stay. */
  async deleteSession(key: SessionKey): Promise<void> {
    await this.#database.transaction(async (run) => {
      const pk = await this.#appender.lock(run, key);
      if (pk !== undefined) await run(this.#sessions.removeSession, [...keyOf(key), pk]);
    });
  }

  appendEvent(append: EventAppend): Promise<AppendOutcome> {
    return this.#appender.append(append);
  }

  async claimLease(claim: LeaseClaim): Promise<ClaimOutcome> {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver } = claim;
    for (;;) {
      const values = [appName, userId, sessionId, nowMs, ttlMs, takeOver];
      const [row] = (await this.#run(this.#leases.claim, values)) as readonly ClaimRow[];
      if (!row) return { status: 'missing' };
      if (row.epoch !== null) {
        return { status: 'taken', lease: { appName, userId, sessionId, epoch: Number(row.epoch), ttlMs } };
      }
      const freeAtMs = Number(row.lease_until);
      if (!takeOver && freeAtMs > nowMs) return { status: 'busy', freeAtMs };
      // It was free when the statement began, and somebody else took or deleted it while this one waited for the row.
    }
  }

  async renewLease(lease: SessionLease, nowMs: number): Promise<boolean> {
    const values = [...keyOf(lease), lease.epoch, nowMs + lease.ttlMs];
    return (await this.#run(this.#leases.renew, values)).length > 0;
  }

  async releaseLease(lease: SessionLease): Promise<void> {
    await this.#run(this.#leases.release, [...keyOf(lease), lease.epoch]);
  }

  async recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): Promise<boolean> {
    const { invocationId, callId, name, status } = entry;
    const call = [invocationId, callId, name, status, responseJson(entry), actionsJson(entry)];
    const values = [...keyOf(lease), lease.epoch, ...call];
    return (await this.#run(this.#leases.recordToolCall, values)).length > 0;
  }

  async listToolCalls(key: SessionKey, invocationId: string): Promise<ToolLedgerEntry[]> {
    const rows = await this.#run(this.#reads.toolCalls, [...keyOf(key), invocationId]);
    return new StoredRows(key.appName, rows).toolCalls;
  }

  async #readWindow(
    key: SessionKey,
    { afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit }: EventWindow,
    plain: Statement,
    narrowed: Statement,
  ): Promise<StoredRows> {
    const values = [...keyOf(key), toInteger(afterSeq), toInteger(beforeSeq ?? Infinity), toInteger(limit ?? Infinity)];
    const isNarrow = sinceCompaction || afterTimestamp !== undefined;
    const rows = isNarrow
      ? await this.#run(narrowed, [...values, afterTimestamp ?? null, sinceCompaction])
      : await this.#run(plain, values);
    return new StoredRows(key.appName, rows);
  }
}

function keyOf({ appName, userId, sessionId }: SessionKey): [appName: string, userId: string, sessionId: string] {
  return [appName, userId, sessionId];
}

/** A number that fits into the integers of SQL: sequence numbers and limits beyond are as good as none. */
function toInteger(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
